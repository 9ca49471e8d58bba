#include "studies/study.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/result.hpp"
#include "report/result_json.hpp"
#include "report/study_report.hpp"

namespace ridgeline::cli {
namespace {

std::vector<FlagSpec> study_flags() {
  std::vector<FlagSpec> flags = {
      {.name = "bench-data",
       .value = "FOLDER",
       .help = "Measured kernel tables of an H100, which most studies look kernels up in"},
      {.name = "bench-data-path", .value = "FOLDER", .meaning = "bench-data"},
  };
  for (auto& flag : manner_flags("markdown|json")) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::string study_list() {
  std::size_t widest = 0;
  for (const studies::Study& study : studies::studies()) {
    widest = std::max(widest, study.id.size());
  }
  std::string text;
  for (const studies::Study& study : studies::studies()) {
    text += fmt::format("{:<{}}  {}\n", study.id, widest, study.claim);
  }
  return text;
}

core::Error study_usage(std::string message) {
  return {.message = std::move(message),
          .where = {.file = "command line"},
          .hint = "ridgeline study list, ridgeline study run ID, ridgeline study all"};
}

/// The studies that the words ask for; none to list them.
core::Result<std::vector<const studies::Study*>> chosen(const std::vector<std::string>& words) {
  std::vector<const studies::Study*> found;
  if (words.size() == 1 && words[0] == "list") {
    return found;
  }
  const bool all = words.size() == 1 && words[0] == "all";
  if (all) {
    for (const studies::Study& study : studies::studies()) {
      found.push_back(&study);
    }
    return found;
  }
  if (words.size() < 2 || words[0] != "run") {
    return core::fail(study_usage(words.empty()
                                      ? "expected list, run ID or all"
                                      : fmt::format("found \"{}\"", fmt::join(words, " "))));
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto study = studies::find_study(words[i]);
    if (!study) {
      return core::fail(study.error());
    }
    found.push_back(*study);
  }
  return found;
}

}  // namespace

ExitCode study_command(Words words) {
  const Opening opening{.usage = "study list | study run ID... | study all [flags]",
                        .about =
                            "Repeats a published study of the rooflines: its claim, arms, tables "
                            "and verdict, and what we\n"
                            "find.",
                        .flags = study_flags(),
                        .formats = {"markdown", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto asked = chosen(arguments.positionals);
  if (!asked) {
    return give_up(asked.error(), manners);
  }
  if (asked->empty()) {
    return put_out(study_list(), manners);
  }
  std::vector<studies::StudyReport> reports;
  for (const studies::Study* study : *asked) {
    auto report = studies::run_study(*study, {.bench_data = arguments.value("bench-data")});
    if (!report) {
      return give_up(report.error(), manners);
    }
    reports.push_back(std::move(*report));
  }
  if (manners.format == "json") {
    return put_out(report::json_text(reports.size() == 1 && arguments.positionals[0] != "all"
                                         ? report::study_tree(reports.front())
                                         : report::studies_tree(reports)),
                   manners);
  }
  std::string text;
  for (const auto& report : reports) {
    text += (text.empty() ? "" : "\n") + report::study_markdown(report);
  }
  return put_out(text, manners);
}

}  // namespace ridgeline::cli
