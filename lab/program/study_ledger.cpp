#include "lab/program/study_ledger.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_json.hpp"
#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/program/laboratory.hpp"
#include "lab/studies/ledger/ledger.hpp"
#include "lab/studies/ledger/settle.hpp"
#include "lab/studies/measured_arms.hpp"

namespace ridgeline::laboratory {
namespace {

core::Result<studies::Ledger> ledger_of(const Arguments& arguments) {
  const std::string path = arguments.value("ledger");
  if (path.empty()) {
    return studies::original_ledger();
  }
  const auto document = document::read_document(path);
  if (!document) {
    return core::fail(document.error());
  }
  return studies::read_ledger(*document);
}

studies::CommandOutput run_inside(std::vector<std::string> words,
                                  studies::ArmPredictions& predictions) {
  words.insert(words.end(), {"--color", "never"});
  KeptOutput kept;
  const ExitCode code = words.front() == "study"
                            ? study_command(Words(words).subspan(1), predictions)
                            : run_words(Words(words));
  return {.exit = static_cast<int>(code), .out = std::move(kept.out), .err = std::move(kept.err)};
}

std::string rendered(const studies::Settlement& settled,
                     std::string_view format,
                     const report::TextStyle& style) {
  if (format == "json") {
    return document::json_text(report::ledger_tree(settled));
  }
  if (format == "markdown") {
    return report::ledger_markdown(settled);
  }
  return format == "html" ? report::ledger_html(settled) : report::ledger_table(settled, style);
}

core::Error surprise(const studies::SettledClaim& found) {
  const std::string why = report::remark(found);
  return {.field = found.claim->id,
          .message = fmt::format("found {}, expected {}: said \"{}\", computed \"{}\"{}{}",
                                 studies::name(found.status),
                                 studies::name(found.claim->expected),
                                 found.claim->said,
                                 found.computed,
                                 why.empty() ? "" : "; ",
                                 why)};
}

}  // namespace

std::vector<std::string> ledger_documents() {
  std::vector<std::string> ids;
  if (const auto ledger = studies::original_ledger()) {
    for (const auto& document : ledger->documents) {
      ids.push_back(document.id);
    }
  }
  return ids;
}

ExitCode show_ledger(const std::vector<std::string>& documents,
                     const Arguments& arguments,
                     const Manners& manners,
                     studies::ArmPredictions& predictions) {
  const auto ledger = ledger_of(arguments);
  if (!ledger) {
    return give_up(ledger.error(), manners);
  }
  auto outputs = VerbOutputs::open(arguments, manners, {"table", "json", "markdown", "html"});
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  const studies::Settlement settled = studies::settle(
      *ledger,
      documents,
      {.bench_data = arguments.value("bench-data"), .measured = arguments.value("measured")},
      [&](const std::vector<std::string>& words) { return run_inside(words, predictions); });
  const ExitCode written = outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return rendered(settled, format, style);
      },
      manners);
  if (written != ExitCode::kOk) {
    return written;
  }
  core::Errors surprises;
  for (const studies::SettledClaim* claim : settled.surprises(arguments.has("strict"))) {
    surprises.push_back(surprise(*claim));
  }
  if (surprises.empty()) {
    return ExitCode::kOk;
  }
  static_cast<void>(give_up(surprises, manners));
  return ExitCode::kDiffers;
}

}  // namespace ridgeline::laboratory
