#include "evidence/validate/validate.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "accuracy/bands.hpp"
#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/laboratory.hpp"
#include "cli/output_file.hpp"
#include "cli/verb_command.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_json.hpp"
#include "evidence/calibrate/leave_out.hpp"
#include "evidence/validate/error_bands.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "verbs/measured_files.hpp"
#include "verbs/validate_ranking.hpp"
#include "verbs/validate_view.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

using evidence::calibrate::kLeaveOutNames;
using evidence::calibrate::LeaveOut;
using evidence::validate::Evidence;
using evidence::validate::Figure;
using evidence::validate::Level;
using evidence::validate::Validation;

/// "e2e=5", "p95:e2e=15", "mean:ttft.p99=20": which statistic of the absolute errors of which
/// number may be how much, in percent.
struct Threshold {
  std::string text;
  std::string over = "median";
  Figure figure = Figure::kE2e;
  Level level = Level::kMean;
  double limit = 0.0;
  /// kRegret or kViolations, at that confidence, for a threshold of the ranking.
  std::string of_ranking = {};
  double confidence = 0.0;
};

constexpr std::string_view kRegret = "regret";
constexpr std::string_view kViolations = "violations";

core::Error bad_threshold(const std::string& text, std::string message) {
  return {.field = "--fail-over",
          .message = fmt::format("\"{}\": {}", text, message),
          .where = {.file = "command line"},
          .hint = "--fail-over e2e=5,p95:e2e=15,ttft.p99=20"};
}

template <class Names>
std::optional<std::size_t> index_in(const Names& names, std::string_view word) {
  const auto found = std::ranges::find(names, word);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<std::size_t>(found - names.begin()));
}

core::Result<Threshold> read_threshold(const std::string& text) {
  Threshold threshold{.text = text};
  std::string_view rest = text;
  const std::size_t equals = rest.find('=');
  if (equals == std::string_view::npos) {
    return core::fail(bad_threshold(text, "has no limit, expected NAME=PERCENT"));
  }
  const std::string_view number = rest.substr(equals + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), threshold.limit);
  if (error != std::errc{} || end != number.data() + number.size() || !(threshold.limit >= 0.0)) {
    return core::fail(bad_threshold(text, "its limit is no percentage"));
  }
  rest = rest.substr(0, equals);
  if (const std::size_t at = rest.find('@'); at != std::string_view::npos) {
    threshold.of_ranking = rest.substr(0, at);
    for (const double confidence : evidence::validate::kConfidences) {
      threshold.confidence =
          rest.substr(at + 1) == fmt::format("{}", confidence) ? confidence : threshold.confidence;
    }
    if ((threshold.of_ranking != kRegret && threshold.of_ranking != kViolations) ||
        threshold.confidence == 0.0) {
      return core::fail(bad_threshold(text, "expected regret or violations, @0.5 or @0.9"));
    }
    return threshold;
  }
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    threshold.over = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  if (threshold.over != "median" && threshold.over != "mean" && threshold.over != "p95" &&
      threshold.over != "p99") {
    return core::fail(bad_threshold(text, "expected median, mean, p95 or p99 before the colon"));
  }
  if (const std::size_t dot = rest.find('.'); dot != std::string_view::npos) {
    const auto level = index_in(evidence::validate::kLevelNames, rest.substr(dot + 1));
    if (!level) {
      return core::fail(bad_threshold(text, "expected mean, p50, p90 or p99 after the dot"));
    }
    threshold.level = static_cast<Level>(*level);
    rest = rest.substr(0, dot);
  }
  const auto figure = index_in(evidence::validate::kFigureNames, rest);
  if (!figure) {
    return core::fail(bad_threshold(
        text,
        fmt::format("expected one of {}", fmt::join(evidence::validate::kFigureNames, ", "))));
  }
  threshold.figure = static_cast<Figure>(*figure);
  return threshold;
}

core::Result<std::vector<Threshold>> read_thresholds(const std::string& text) {
  std::vector<Threshold> thresholds;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    auto threshold = read_threshold(std::string(rest.substr(0, comma)));
    if (!threshold) {
      return core::fail(threshold.error());
    }
    thresholds.push_back(std::move(*threshold));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return thresholds;
}

/// A share of the ranking; nothing where none was asked for or nothing was picked.
std::optional<double> of_ranking(const Threshold& threshold, const Validation& validation) {
  if (!validation.ranking) {
    return std::nullopt;
  }
  const auto at = std::ranges::find(validation.ranking->by_confidence,
                                    threshold.confidence,
                                    &evidence::validate::RankingAt::confidence);
  if (at == validation.ranking->by_confidence.end() || at->all.picks == 0) {
    return std::nullopt;
  }
  return threshold.of_ranking == kRegret ? at->all.mean_regret_pct : at->all.violations_pct();
}

/// "p95 error of ttft (p99)"
std::string name_of(const Threshold& threshold) {
  if (!threshold.of_ranking.empty()) {
    return fmt::format("ranking's {} at {}", threshold.of_ranking, threshold.confidence);
  }
  return fmt::format("{} error of {} ({})",
                     threshold.over,
                     evidence::validate::kFigureNames[static_cast<std::size_t>(threshold.figure)],
                     evidence::validate::kLevelNames[static_cast<std::size_t>(threshold.level)]);
}

/// What is over its limit; a number that nothing was scored on is.
core::Errors missed(const std::vector<Threshold>& thresholds, const Validation& validation) {
  core::Errors errors;
  const auto add = [&](const Threshold& threshold, const std::string& found) {
    errors.push_back(
        {.field = "--fail-over " + threshold.text,
         .message = fmt::format(
             "the {} is {}, expected up to {:.6g} %", name_of(threshold), found, threshold.limit)});
  };
  for (const auto& threshold : thresholds) {
    if (!threshold.of_ranking.empty()) {
      const auto share = of_ranking(threshold, validation);
      if (!share) {
        add(threshold, "not known, as nothing was picked (--ranking)");
      } else if (*share > threshold.limit) {
        add(threshold, fmt::format("{:.2f} %", *share));
      }
      continue;
    }
    const auto row = std::ranges::find_if(validation.scores, [&](const auto& candidate) {
      return candidate.axis == "all" && candidate.value == "all" &&
             candidate.figure == threshold.figure && candidate.level == threshold.level;
    });
    if (row == validation.scores.end()) {
      add(threshold, "not known, as nothing was scored");
      continue;
    }
    const double value = threshold.over == "median" ? row->median_abs
                         : threshold.over == "mean" ? row->mean_abs
                         : threshold.over == "p95"  ? row->p95_abs
                                                    : row->p99_abs;
    if (value > threshold.limit) {
      add(threshold, fmt::format("{:.2f} %", value));
    }
  }
  return errors;
}

/// A file of which not a single record is understood is the wrong file.
std::optional<core::Error> nothing_readable(const std::vector<Evidence>& records) {
  if (records.empty() || std::ranges::any_of(records, &std::string::empty, &Evidence::problem)) {
    return std::nullopt;
  }
  const Evidence& first = records.front();
  return core::Error{
      .message = fmt::format("none of {} records can be read: {}", records.size(), first.problem),
      .where = {.file = first.file, .line = static_cast<int>(first.line)}};
}

/// A table without the row of all is no good news: the first record's reason stands for it.
std::optional<core::Error> nothing_scored(const Validation& validation) {
  if (std::ranges::any_of(validation.scores, [](const auto& row) {
        return row.axis == "all" && row.value == "all";
      })) {
    return std::nullopt;
  }
  const auto& records = validation.records;
  const auto first = std::ranges::find_if_not(
      records, &std::string::empty, &evidence::validate::ScoredRecord::reason);
  if (first == records.end()) {
    return core::Error{.message = fmt::format(
                           "nothing was scored: none of {} records has a number that is predicted",
                           records.size())};
  }
  return core::Error{
      .message = fmt::format("nothing was scored of {} records: {}", records.size(), first->reason),
      .where = {.file = first->evidence.file, .line = static_cast<int>(first->evidence.line)}};
}

std::string rendered(const Validation& validation,
                     std::string_view format,
                     const report::TextStyle& style) {
  const document::Node tree = evidence::validate::validation_tree(validation);
  if (format == "json") {
    return document::json_text(tree);
  }
  const report::Face face = report::face_of(format);
  const std::string ranking =
      !validation.ranking               ? ""
      : face == report::Face::kTerminal ? verbs::ranking_text(*validation.ranking, style)
      : face == report::Face::kMarkdown ? verbs::ranking_markdown(*validation.ranking)
                                        : "";
  return verbs::validation_text(tree, face, style, ranking);
}

struct Asked {
  bool ablation = false;
  bool ranking = false;
  std::optional<evidence::validate::CoverageBy> coverage;
  std::optional<LeaveOut> axis;          ///< What is left out at a time.
  std::optional<OutputFile> bands_file;  ///< Open since before the run.
};

Asked read_asked(const Arguments& arguments, core::Errors& errors) {
  Asked asked;
  asked.ablation = arguments.has("ablation");
  asked.ranking = arguments.has("ranking");
  if (arguments.has("coverage-left-out") && arguments.has("coverage")) {
    errors.push_back({.field = "--coverage-left-out",
                      .message = "asks for other bands than --coverage: give one of them",
                      .where = {.file = "command line"}});
  } else if (arguments.has("coverage-left-out")) {
    asked.coverage = evidence::validate::CoverageBy::kLeftOut;
  } else if (arguments.has("coverage")) {
    asked.coverage = evidence::validate::CoverageBy::kShipped;
  }
  if (const std::string axis = arguments.value("leave-out"); !axis.empty()) {
    if (const auto known = index_in(kLeaveOutNames, axis)) {
      asked.axis = static_cast<LeaveOut>(*known);
    } else {
      errors.push_back(
          {.field = "--leave-out",
           .message = fmt::format(
               "found \"{}\", expected one of {}", axis, fmt::join(kLeaveOutNames, ", ")),
           .where = {.file = "command line"}});
    }
  }
  if (arguments.has("bands-out")) {
    if (auto file = OutputFile::open("--bands-out", arguments.value("bands-out"))) {
      asked.bands_file.emplace(std::move(*file));
    } else {
      errors.insert(errors.end(), file.error().begin(), file.error().end());
    }
  }
  return asked;
}

core::Result<void> write_bands(Asked& asked, const Validation& validation) {
  if (!asked.bands_file) {
    return {};
  }
  asked.bands_file->stream() << accuracy::bands_text(
      evidence::validate::error_bands(validation.records));
  return asked.bands_file->commit();
}

/// The predictions, with what was asked for beside them.
core::Result<Validation> validation_of(const verbs::MeasuredJob& job, const Asked& asked) {
  Validation validation = evidence::validate::validate(job.evidence, job.options);
  if (asked.ablation) {
    validation.ablation = evidence::validate::ablate(job.evidence, job.options);
  }
  if (asked.ranking) {
    validation.ranking = evidence::validate::rank(validation.records);
  }
  if (asked.coverage) {
    validation.coverage = evidence::validate::coverage(validation.records, *asked.coverage);
  }
  if (asked.axis) {
    auto rows = evidence::calibrate::leave_out(job.evidence, *asked.axis, job.options);
    if (!rows) {
      return core::fail(std::move(rows).error());
    }
    validation.unseen = std::move(*rows);
  }
  return validation;
}

Opening validate_opening() {
  Opening opening{
      .usage = "validate FILE... [flags]",
      .about =
          "Predicts measured runs and scores the predictions: every record of the files, its\n"
          "workload reproduced, beside what other simulators said of it. Records that cannot be\n"
          "read or predicted are listed with the reason. Flags of the scenario are what-ifs that\n"
          "win over the records. Exit code 99 when an error is over --fail-over, or nothing is "
          "scored.",
      .flags = scenario_flags(ScenarioPart::kServer),
      .formats = {"table", "json", "csv", "markdown", "html"}};
  opening.flags.push_back({.name = "histories",
                           .value = "N",
                           .help = "Histories to simulate: draws of arrivals and lengths [3]"});
  opening.flags.push_back({.name = "threads",
                           .value = "N",
                           .help = "Threads [all cores]; results do not depend on it"});
  opening.flags.push_back({.name = "fail-over",
                           .value = "LIST",
                           .help = "Limits on absolute errors in percent: e2e=5,p95:e2e=15"});
  opening.flags.push_back({.name = "ablation",
                           .takes = FlagSpec::Takes::kNothing,
                           .help = "Also score the model without each of its elements (slow)"});
  opening.flags.push_back(
      {.name = "leave-out",
       .value = "AXIS",
       .help = "network, gpu or format: also score each with constants refitted to the "
               "others' runs (slow); first-use: each network's first requests with stalls "
               "fitted on the others'"});
  opening.flags.push_back({.name = "ranking",
                           .takes = FlagSpec::Takes::kNothing,
                           .help = "Also score which deployment the predictions pick, against "
                                   "measured costs and limits"});
  opening.flags.push_back({.name = "coverage",
                           .takes = FlagSpec::Takes::kNothing,
                           .help = "Also count how many measurements lie within the error bands "
                                   "of their predictions"});
  opening.flags.push_back({.name = "coverage-left-out",
                           .takes = FlagSpec::Takes::kNothing,
                           .help = "Likewise, within bands made of the files' other deployments"});
  opening.flags.push_back({.name = "bands-out",
                           .value = "FILE",
                           .help = "Also write the error bands of all records to a YAML file"});
  opening.flags.push_back(output_flag());
  for (auto& flag : manner_flags("table|json|csv|markdown|html")) {
    opening.flags.push_back(std::move(flag));
  }
  return opening;
}

}  // namespace

ExitCode validate_command(Words words) {
  const Opening opening = validate_opening();
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const verbs::Verb& verb = *verbs::find_verb("validate");
  TerminalHost host(verb, arguments, manners);
  verbs::Request request = request_of(verb, arguments);
  auto job = verbs::take_measured(request);
  if (job && needs_laboratory(job->evidence)) {
    return run_laboratory("validate", words);
  }
  const auto thresholds = read_thresholds(arguments.value("fail-over"));
  core::Errors errors;
  if (!job) {
    errors = job.error();
  } else if (const auto nothing = nothing_readable(job->evidence)) {
    errors.push_back(*nothing);
  }
  if (!thresholds) {
    errors.insert(errors.end(), thresholds.error().begin(), thresholds.error().end());
  }
  Asked asked = read_asked(arguments, errors);
  auto outputs = VerbOutputs::open(arguments, manners, opening.formats);
  if (!outputs) {
    errors.insert(errors.end(), outputs.error().begin(), outputs.error().end());
  }
  if (!errors.empty()) {
    return give_up(errors, manners);
  }
  verbs::warn_of_files(job->evidence, host);
  const auto validation = validation_of(*job, asked);
  if (!validation) {
    return give_up(validation.error(), manners);
  }
  if (const auto kept = write_bands(asked, *validation); !kept) {
    return give_up(kept.error(), manners);
  }
  const ExitCode written = outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return rendered(*validation, format, style);
      },
      manners);
  if (written != ExitCode::kOk) {
    return written;
  }
  auto over = missed(*thresholds, *validation);
  if (auto nothing = nothing_scored(*validation)) {
    over.insert(over.begin(), *std::move(nothing));
  }
  if (over.empty()) {
    return ExitCode::kOk;
  }
  static_cast<void>(give_up(over, manners));
  return ExitCode::kThreshold;
}

}  // namespace ridgeline::cli
