#include "lab/pages/records.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/verb_command.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/coverage.hpp"
#include "evidence/validate/thresholds.hpp"
#include "evidence/validate/validate.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "lab/program/laboratory.hpp"
#include "lab/scoring/ablation.hpp"
#include "lab/scoring/findings.hpp"
#include "lab/scoring/leave_out.hpp"
#include "lab/scoring/left_out_bands.hpp"
#include "lab/scoring/ranking.hpp"
#include "lab/scoring/ranking_limit.hpp"
#include "latency/accuracy/bands.hpp"
#include "verbs/host.hpp"
#include "verbs/measured_files.hpp"
#include "verbs/registry.hpp"
#include "verbs/request.hpp"
#include "verbs/validate.hpp"
#include "verbs/validate_groups.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::laboratory {
namespace {

using evidence::validate::Validation;
using verbs::Host;
using verbs::Parameter;
using verbs::Reply;
using verbs::Request;

struct Asked {
  verbs::ValidationJob validation = {};
  std::vector<scoring::RankingLimit> ranking_limits = {};
  std::optional<scoring::LeaveOut> axis = {};  ///< What is left out at a time.
  bool ablation = false;
  bool ranking = false;
  bool coverage_left_out = false;
};

/// Takes the limits of a ranking out of the thresholds; what is left are those of errors.
std::string take_ranking_limits(Request& request, Asked& asked) {
  std::vector<std::string> others;
  for (std::string& text : verbs::split_list(request.take_text("fail_over"))) {
    if (text.substr(0, text.find('=')).find('@') == std::string::npos) {
      others.push_back(std::move(text));
    } else if (auto limit = scoring::read_ranking_limit(text)) {
      asked.ranking_limits.push_back(std::move(*limit));
    } else {
      request.add(verbs::threshold_problem(request, std::move(limit.error().front())));
    }
  }
  return fmt::format("{}", fmt::join(others, ","));
}

core::Result<Asked> take_asked(Request& request) {
  Asked asked;
  const std::string fail_over = take_ranking_limits(request, asked);
  asked.ablation = request.take_bool("ablation", false);
  asked.ranking = request.take_bool("ranking", false);
  asked.coverage_left_out = request.take_bool("coverage_left_out", false);
  if (asked.coverage_left_out && request.has("coverage")) {
    request.add(request.problem("coverage_left_out",
                                "asks for other bands than --coverage: give one of them"));
  }
  if (const std::string axis = request.take_text("leave_out"); !axis.empty()) {
    const auto* const known = std::ranges::find(scoring::kLeaveOutNames, std::string_view(axis));
    if (known == scoring::kLeaveOutNames.end()) {
      request.add(request.problem(
          "leave_out",
          fmt::format(
              "found \"{}\", expected one of {}", axis, fmt::join(scoring::kLeaveOutNames, ", "))));
    } else {
      asked.axis = static_cast<scoring::LeaveOut>(known - scoring::kLeaveOutNames.begin());
    }
  }
  auto validation = verbs::take_validation(request, fail_over);
  if (!validation) {
    return core::fail(validation.error());
  }
  asked.validation = std::move(*validation);
  return asked;
}

core::Result<scoring::Findings> find(const Asked& asked, const Validation& validation) {
  const auto& [evidence, options] = asked.validation.measured;
  scoring::Findings findings;
  if (asked.ablation) {
    findings.ablation = scoring::ablate(evidence, options);
  }
  if (asked.ranking) {
    findings.ranking = scoring::rank(validation.records);
  }
  if (asked.axis) {
    auto rows = scoring::leave_out(evidence, *asked.axis, options);
    if (!rows) {
      return core::fail(std::move(rows).error());
    }
    findings.unseen = std::move(*rows);
  }
  return findings;
}

core::Result<Reply> records(Request& request, Host& host) {
  const auto asked = take_asked(request);
  if (!asked) {
    return core::fail(asked.error());
  }
  const auto& [measured, thresholds, with_coverage, groups] = asked->validation;
  if (const auto nothing = evidence::validate::nothing_readable(measured.evidence)) {
    return core::fail(*nothing);
  }
  verbs::warn_of_files(measured.evidence, host);
  if (!groups.models.empty()) {
    return verbs::compared_validations(groups, measured, host);
  }
  Validation validation = evidence::validate::validate(measured.evidence, measured.options);
  verbs::add_asked(groups, validation);
  if (asked->coverage_left_out) {
    validation.coverage = scoring::coverage_left_out(validation.records);
  } else if (with_coverage) {
    validation.coverage = evidence::validate::coverage(validation.records);
  }
  auto findings = find(*asked, validation);
  if (!findings) {
    return core::fail(std::move(findings).error());
  }
  core::Errors missed = evidence::validate::missed(thresholds, validation);
  for (core::Error& error : scoring::missed(asked->ranking_limits, findings->ranking)) {
    missed.push_back(std::move(error));
  }
  const auto found = verbs::shared(std::move(validation));
  Reply reply = verbs::validation_reply([found, kept = verbs::shared(std::move(*findings))] {
    return report::records_tree(evidence::validate::validation_tree(*found), *kept);
  });
  reply.artefacts["bands_out"] = [found] {
    return accuracy::bands_text(scoring::error_bands(found->records));
  };
  verbs::fail_over(std::move(missed), *found, request, reply);
  return reply;
}

std::vector<Parameter> further_parameters() {
  using Kind = Parameter::Kind;
  return {{.key = "ablation",
           .kind = Kind::kSwitch,
           .help = "Also score the model without each of its elements (slow)"},
          {.key = "leave_out",
           .value = "AXIS",
           .help = "network, gpu or format: also score each with constants refitted to the "
                   "others' runs (slow); first-use: each network's first requests with stalls "
                   "fitted on the others'"},
          {.key = "ranking",
           .kind = Kind::kSwitch,
           .help = "Also score which deployment the predictions pick, against measured costs and "
                   "limits; --fail-over regret@0.5=2,violations@0.9=5 limits it"},
          {.key = "coverage_left_out",
           .kind = Kind::kSwitch,
           .help = "Also count how many measurements lie within error bands made of the files' "
                   "other deployments"},
          {.key = "bands_out",
           .kind = Kind::kFile,
           .value = "FILE",
           .help = "Also write the error bands of all records to a YAML file"}};
}

verbs::Verb records_verb() {
  verbs::Verb verb = verbs::validate_verb();
  verb.name = "records";
  verb.usage = "records FILE... [flags]";
  verb.about =
      "Predicts every run of collections of measured runs, as `validate` does, and scores the\n"
      "predictions: also by what each element of the model is worth, by which deployment they\n"
      "pick, and by networks and GPUs that the constants have not seen.";
  for (Parameter& parameter : further_parameters()) {
    verb.parameters.insert(verb.parameters.end() - 1, std::move(parameter));  // Before --output.
  }
  verb.run = records;
  return verb;
}

}  // namespace

ExitCode records_command(Words words) {
  return verb_command(records_verb(), words);
}

}  // namespace ridgeline::laboratory
