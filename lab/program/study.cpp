#include "lab/studies/study.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "lab/pages/study_report.hpp"
#include "lab/program/laboratory.hpp"
#include "lab/program/study_ledger.hpp"
#include "lab/studies/measured_arms.hpp"
#include "report/palette.hpp"

namespace ridgeline::laboratory {
namespace {

std::vector<FlagSpec> study_flags() {
  std::vector<FlagSpec> flags = {
      {.name = "bench-data",
       .value = "FOLDER",
       .help = "Measured kernel tables of an H100, which most studies look kernels up in"},
      {.name = "bench-data-path", .value = "FOLDER", .meaning = "bench-data"},
      {.name = "measured",
       .value = "FILE",
       .help = "Measured runs, as `validate` reads them, which some claims are held against"},
      {.name = "trace",
       .value = "FILE",
       .help =
           "Recorded requests, as `replay` reads them, which dynamo-ab and mooncake are run on"},
      {.name = "ledger",
       .value = "FILE",
       .help = "Other claims than those compiled in (lab/data/studies/original.yaml)"},
      {.name = "strict",
       .takes = FlagSpec::Takes::kNothing,
       .help = "A claim whose data are not at hand ends with 1 too"},
      output_flag(),
  };
  for (auto& flag : manner_flags("table|markdown|json|html")) {
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

std::string study_list_json() {
  std::vector<document::Node> list;
  for (const studies::Study& study : studies::studies()) {
    list.push_back(document::MapBuilder().add("id", study.id).add("claim", study.claim).build());
  }
  return document::json_text(document::list_node(std::move(list)));
}

core::Error study_usage(std::string message) {
  return {.message = std::move(message),
          .where = {.file = "command line"},
          .hint = "ridgeline study list, ridgeline study run ID, ridgeline study all"};
}

/// The documents among the words behind `study run`; all of them must be, or none.
std::vector<std::string> documents_of(const std::vector<std::string>& words) {
  const std::vector<std::string> known = ledger_documents();
  std::vector<std::string> found;
  for (std::size_t i = 1; i < words.size() && words[0] == "run"; ++i) {
    if (std::ranges::find(known, words[i]) == known.end()) {
      return {};
    }
    found.push_back(words[i]);
  }
  return found;
}

/// The studies that the words ask for; none to list them.
core::Result<std::vector<const studies::Study*>> chosen(const std::vector<std::string>& words) {
  std::vector<const studies::Study*> found;
  if (words.size() == 1 && words[0] == "list") {
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

ExitCode show_studies(const std::vector<const studies::Study*>& asked,
                      const Arguments& arguments,
                      const Manners& manners,
                      studies::ArmPredictions& predictions) {
  auto outputs = VerbOutputs::open(arguments, manners, {"markdown", "json"});
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  std::vector<studies::StudyReport> reports;
  for (const studies::Study* study : asked) {
    auto report = studies::run_study(
        *study,
        {.bench_data = arguments.value("bench-data"),
         .measured = arguments.value("measured"),
         .trace = arguments.value("trace"),
         .threads = std::max<std::int64_t>(1, std::thread::hardware_concurrency()),
         .predictions = &predictions});
    if (!report) {
      return give_up(report.error(), manners);
    }
    reports.push_back(std::move(*report));
  }
  return outputs->put_out(
      [&](std::string_view format, const report::TextStyle&) {
        if (format == "json") {
          return document::json_text(reports.size() == 1 ? report::study_tree(reports.front())
                                                         : report::studies_tree(reports));
        }
        std::string text;
        for (const auto& report : reports) {
          text += (text.empty() ? "" : "\n") + report::study_markdown(report);
        }
        return text;
      },
      manners);
}

}  // namespace

ExitCode study_command(Words words, studies::ArmPredictions& predictions) {
  const Opening opening{.usage = "study list | study run ID... | study all [flags]",
                        .about =
                            "Repeats a published study of the rooflines: its claim, arms, tables "
                            "and verdict, and what we\n"
                            "find. `all` settles every claim of the original documents, one line "
                            "each; `run 003` those of one\n"
                            "document. Exit code 1 when the status of a claim is not the expected "
                            "one.",
                        .flags = study_flags(),
                        .formats = {"table", "markdown", "json", "html"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const std::vector<std::string>& asked_for = arguments.positionals;
  const bool all = asked_for.size() == 1 && asked_for[0] == "all";
  if (const auto documents = documents_of(asked_for); all || !documents.empty()) {
    return show_ledger(documents, arguments, manners, predictions);
  }
  const auto asked = chosen(asked_for);
  if (!asked) {
    return give_up(asked.error(), manners);
  }
  if (asked->empty()) {
    return put_out(manners.format == "json" ? study_list_json() : study_list(), manners);
  }
  if (manners.format == "html") {
    return give_up({study_usage("html is a format of `study all` and of documents")}, manners);
  }
  return show_studies(*asked, arguments, manners, predictions);
}

}  // namespace ridgeline::laboratory
