#include "verbs/validate.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/coverage.hpp"
#include "evidence/validate/thresholds.hpp"
#include "evidence/validate/validate.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "verbs/measured_files.hpp"
#include "verbs/registry.hpp"
#include "verbs/validate_groups.hpp"
#include "verbs/validate_steps.hpp"
#include "verbs/validate_view.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

using evidence::validate::Validation;

core::Result<Reply> validate(Request& request, Host& host) {
  if (auto steps = scored_steps(request)) {
    return *std::move(steps);
  }
  auto job = take_validation(request, request.take_text("fail_over"));
  if (!job) {
    return core::fail(job.error());
  }
  auto& [measured, thresholds, with_coverage, asked] = *job;
  if (const auto code = host.hand_over(measured.evidence)) {
    return Reply{.code = *code};
  }
  if (const auto nothing = evidence::validate::nothing_readable(measured.evidence);
      nothing && request.is_words()) {
    return core::fail(*nothing);
  }
  warn_of_files(measured.evidence, host);
  measured.options.interrupt = &host.stop();
  const auto watch = host.watch(Host::Work::kOnThreads);
  if (!asked.models.empty()) {
    return compared_validations(asked, measured, host);
  }
  Validation validation =
      evidence::validate::validate(std::move(measured.evidence), measured.options);
  add_asked(asked, validation);
  if (with_coverage) {
    validation.coverage = evidence::validate::coverage(validation.records);
  }
  const auto found = shared(std::move(validation));
  Reply reply = validation_reply(tree_of(found, evidence::validate::validation_tree));
  fail_over(evidence::validate::missed(thresholds, *found), *found, request, reply);
  if (host.stop()) {
    reply.code = host.stopped();
  }
  return reply;
}

}  // namespace

core::Error threshold_problem(const Request& request, core::Error error) {
  const std::string field = request.field("fail_over");
  return request.problem("fail_over",
                         std::move(error.message),
                         request.is_words() ? field + " " + error.hint : std::move(error.hint));
}

core::Result<ValidationJob> take_validation(Request& request, const std::string& fail_over) {
  ValidationJob job;
  job.asked = take_groups(request);
  job.coverage = request.take_bool("coverage", false);
  auto thresholds = evidence::validate::read_thresholds(fail_over);
  if (!thresholds) {
    request.add(threshold_problem(request, std::move(thresholds.error().front())));
  } else {
    job.thresholds = std::move(*thresholds);
  }
  auto measured = take_measured(request);
  if (!measured) {
    return core::fail(measured.error());
  }
  job.measured = std::move(*measured);
  apply_groups(job.asked, job.measured);
  return job;
}

Reply validation_reply(std::function<document::Node()> tree) {
  Reply reply;
  for (const char* format : {"table", "csv", "markdown", "html"}) {
    reply.views[format] = [tree, face = report::face_of(format)](const report::TextStyle& style) {
      return validation_text(tree(), face, style);
    };
  }
  reply.tree = std::move(tree);
  return reply;
}

void fail_over(core::Errors missed,
               const Validation& validation,
               const Request& request,
               Reply& reply) {
  for (core::Error& error : missed) {
    error.field = request.field("fail_over") + " " + error.field;
  }
  if (auto nothing = evidence::validate::nothing_scored(validation);
      nothing && request.is_words()) {
    missed.insert(missed.begin(), *std::move(nothing));
  }
  if (!missed.empty()) {
    reply.code = kThreshold;
    reply.errors = std::move(missed);
  }
}

Verb validate_verb() {
  using Kind = Parameter::Kind;
  Verb verb{
      .name = "validate",
      .summary = "compare with measured runs",
      .usage = "validate FILE... [flags]",
      .about =
          "Predicts measured runs and scores the predictions: every record of the files, its\n"
          "workload reproduced, beside what other simulators said of it. Records that cannot be\n"
          "read or predicted are listed with the reason. Flags of the scenario are what-ifs that\n"
          "win over the records. Exit code 99 when an error is over --fail-over, or nothing is "
          "scored.",
      .scenario = ScenarioPart::kServer,
      .words = "files",
      .parameters = {scenario_parameters()},
      .formats = {"table", "json", "csv", "markdown", "html"},
      .run = validate};
  for (Parameter& parameter : measured_parameters()) {
    verb.parameters.push_back(std::move(parameter));
  }
  verb.parameters.push_back({.key = "fail_over",
                             .value = "LIST",
                             .help = "Limits on absolute errors in percent: e2e=5,p95:e2e=15"});
  for (Parameter& parameter : group_parameters()) {
    verb.parameters.push_back(std::move(parameter));
  }
  verb.parameters.push_back({.key = "step_context",
                             .value = "TOKENS",
                             .help = "Of a step log that does not say them: tokens before each "
                                     "decode [1024]"});
  verb.parameters.push_back({.key = "coverage",
                             .kind = Kind::kSwitch,
                             .help = "Also count how many measurements lie within the error bands "
                                     "of their predictions"});
  verb.parameters.push_back(output_parameter());
  return verb;
}

}  // namespace ridgeline::verbs
