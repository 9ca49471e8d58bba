#include "lab/studies/study.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
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
#include "document/save.hpp"
#include "lab/pages/study_report.hpp"
#include "lab/program/laboratory.hpp"
#include "lab/program/study_ledger.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/study_file.hpp"
#include "report/palette.hpp"

namespace ridgeline::laboratory {
namespace {

std::vector<FlagSpec> study_flags() {
  std::vector<FlagSpec> flags = {
      {.name = "bench-data",
       .value = "FOLDER",
       .help = "Measured kernel tables of an H100, which most studies look kernels up in"},
      {.name = "bench-data-path", .value = "FOLDER", .meaning = "bench-data"},
      {.name = "model",
       .value = "NETWORK",
       .help = "Another network than the study's own, where it is a file"},
      {.name = "gpu", .value = "GPU", .help = "Another GPU, likewise"},
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
          .hint = "ridgeline study list, study run ID|FILE, study new NAME, study all"};
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

bool is_file(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json");
}

core::Result<studies::Study> study_of(const std::string& word, const Arguments& arguments) {
  core::Result<studies::Study> study = studies::Study();
  if (is_file(word)) {
    study = studies::read_study_file(word);
  } else if (const auto found = studies::find_study(word)) {
    study = **found;
  } else {
    study = core::fail(found.error());
  }
  return study ? studies::elsewhere(
                     *std::move(study), arguments.value("model"), arguments.value("gpu"))
               : study;
}

/// The studies that the words ask for; none to list them.
core::Result<std::vector<studies::Study>> chosen(const Arguments& arguments) {
  const std::vector<std::string>& words = arguments.positionals;
  std::vector<studies::Study> found;
  if (words.size() == 1 && words[0] == "list") {
    return found;
  }
  if (words.size() < 2 || words[0] != "run") {
    return core::fail(study_usage(words.empty()
                                      ? "expected list, run ID, new NAME or all"
                                      : fmt::format("found \"{}\"", fmt::join(words, " "))));
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    auto study = study_of(words[i], arguments);
    if (!study) {
      return core::fail(study.error());
    }
    found.push_back(*std::move(study));
  }
  return found;
}

/// `study new NAME`: NAME.yaml, which must not be there.
ExitCode write_stub(const std::string& name, const Manners& manners) {
  const std::string path = name + ".yaml";
  if (name.empty() || !std::ranges::all_of(name, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
      })) {
    return give_up({study_usage(fmt::format(
                       "found \"{}\", expected a name of letters, digits, - and _", name))},
                   manners);
  }
  if (std::filesystem::exists(path)) {
    return give_up(
        {{.message = fmt::format("{} is there already", path), .where = {.file = "command line"}}},
        manners);
  }
  if (const auto saved = document::save_file("study new", path, studies::study_stub(name));
      !saved) {
    return give_up(saved.error(), manners);
  }
  return put_out(fmt::format("{}: run it with `ridgeline study run {}`\n", path, path), manners);
}

ExitCode show_studies(const std::vector<studies::Study>& asked,
                      const Arguments& arguments,
                      const Manners& manners,
                      studies::ArmPredictions& predictions) {
  auto outputs = VerbOutputs::open(arguments, manners, {"markdown", "json", "html"});
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  std::vector<studies::StudyReport> reports;
  bool checks_hold = true;
  for (const studies::Study& study : asked) {
    auto report = studies::run_study(
        study,
        {.bench_data = arguments.value("bench-data"),
         .measured = arguments.value("measured"),
         .trace = arguments.value("trace"),
         .threads = std::max<std::int64_t>(1, std::thread::hardware_concurrency()),
         .predictions = &predictions});
    if (!report) {
      return give_up(report.error(), manners);
    }
    checks_hold = checks_hold && report->outcome.checks_hold;
    reports.push_back(std::move(*report));
  }
  const ExitCode code = outputs->put_out(
      [&](std::string_view format, const report::TextStyle&) {
        if (format == "json") {
          return document::json_text(reports.size() == 1 ? report::study_tree(reports.front())
                                                         : report::studies_tree(reports));
        }
        if (format == "html") {
          return report::studies_html(reports);
        }
        std::string text;
        for (const auto& report : reports) {
          text += (text.empty() ? "" : "\n") + report::study_markdown(report);
        }
        return text;
      },
      manners);
  return code == ExitCode::kOk && !checks_hold ? ExitCode::kDiffers : code;
}

}  // namespace

ExitCode study_command(Words words, studies::ArmPredictions& predictions) {
  const Opening opening{
      .usage = "study list | study run ID|FILE... | study new NAME | study all [flags]",
      .about =
          "Runs a study: its claim, arms, tables and verdict, and what we find. "
          "ID is a published study, FILE\n"
          "one of your own, which `new` begins. `all` settles every claim of the "
          "original documents, one line\n"
          "each; `run 003` those of one document. Exit code 1 when the status of "
          "a claim is not the expected\n"
          "one, or a check of a study does not hold.",
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
  if (asked_for.size() == 2 && asked_for[0] == "new") {
    return write_stub(asked_for[1], manners);
  }
  const auto asked = chosen(arguments);
  if (!asked) {
    return give_up(asked.error(), manners);
  }
  if (asked->empty()) {
    return put_out(manners.format == "json" ? study_list_json() : study_list(), manners);
  }
  return show_studies(*asked, arguments, manners, predictions);
}

}  // namespace ridgeline::laboratory
