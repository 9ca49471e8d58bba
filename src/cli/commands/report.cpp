#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "cli/arguments.hpp"
#include "cli/commands/report_inputs.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "report/comparison_page.hpp"
#include "report/figures/figure.hpp"
#include "report/front_page.hpp"
#include "report/html_report.hpp"
#include "report/palette.hpp"
#include "report/result_json.hpp"
#include "report/saved_views.hpp"

namespace ridgeline::cli {
namespace {

std::string page_of(const ReportInputs& inputs) {
  switch (inputs.kind) {
    case ReportInputs::Kind::kSweep:
      return report::sweep_page(inputs.rows, inputs.file);
    case ReportInputs::Kind::kOther:
    case ReportInputs::Kind::kRuns:
      break;
  }
  const report::PageRun& first = inputs.runs.front();
  return inputs.runs.size() == 1
             ? report::html_report(first.result, report::words_of(first.result, first.name))
             : report::comparison_page(inputs.runs);
}

std::string json_of(const ReportInputs& inputs) {
  return report::json_text(inputs.runs.size() == 1 ? inputs.runs.front().result
                                                   : report::page_runs_tree(inputs.runs));
}

/// The formats of what was read, the usual one first.
std::vector<std::string> formats_of(const ReportInputs& inputs) {
  if (inputs.kind == ReportInputs::Kind::kOther) {
    return {inputs.view->formats.begin(), inputs.view->formats.end()};
  }
  return inputs.kind == ReportInputs::Kind::kRuns ? std::vector<std::string>{"html", "json", "svg"}
                                                  : std::vector<std::string>{"html"};
}

/// What the flags ask of the inputs: JSON and single pictures are of runs.
core::Result<void> check_format(const ReportInputs& inputs,
                                const Arguments& arguments,
                                const Manners& manners) {
  const auto wants = [&](std::string_view format, std::string_view extension) {
    const auto outputs = arguments.values("output");
    return manners.format == format || std::ranges::any_of(outputs, [&](const std::string& path) {
             return path.ends_with(extension);
           });
  };
  const auto refuse = [](std::string_view field, std::string message, std::string hint) {
    return core::fail(core::Error{.field = std::string(field),
                                  .message = std::move(message),
                                  .where = {.file = "command line"},
                                  .hint = std::move(hint)});
  };
  if (inputs.kind != ReportInputs::Kind::kRuns && wants("json", ".json")) {
    return refuse("--format",
                  fmt::format("'{}' is JSON already", inputs.file),
                  fmt::format("--format {}", formats_of(inputs).front()));
  }
  const std::vector<std::string> formats = formats_of(inputs);
  if (manners.format != kQuiet && manners.format != "svg" &&
      std::ranges::find(formats, manners.format) == formats.end()) {
    return core::fail(bad_choice("format", manners.format, formats));
  }
  const bool wants_svg = wants("svg", ".svg");
  if (wants_svg != arguments.has("figure")) {
    return refuse("--figure",
                  wants_svg ? "is missing: an SVG file holds one picture"
                            : "names a picture, which only an SVG file holds",
                  "--figure clock -o clock.svg");
  }
  if (!wants_svg) {
    return {};
  }
  if (inputs.runs.size() != 1) {
    return refuse("--figure", "is a picture of one run", "one file");
  }
  const std::string wanted = arguments.value("figure");
  std::vector<std::string> names;
  for (const auto& figure : report::figures::all_figures(inputs.runs.front().result)) {
    names.push_back(figure.id);
  }
  if (names.empty()) {
    return refuse("--figure", "the result has no series to draw", "ridgeline run --series");
  }
  return std::ranges::find(names, wanted) == names.end()
             ? core::Result<void>(core::fail(bad_choice("figure", wanted, names)))
             : core::Result<void>();
}

std::string figure_of(const ReportInputs& inputs, const std::string& name) {
  for (const auto& figure : report::figures::all_figures(inputs.runs.front().result)) {
    if (figure.id == name) {
      return report::figures::standalone_svg(figure);
    }
  }
  return {};
}

}  // namespace

ExitCode report_command(Words words) {
  std::vector<FlagSpec> flags = {
      output_flag(),
      {.name = "figure",
       .value = "NAME",
       .help = "One picture of a run as an SVG file: clock, distributions, time, operators, ..."}};
  for (auto& flag : manner_flags("html|table|markdown|csv|json|svg")) {
    flags.push_back(std::move(flag));
  }
  const Opening opening{
      .usage = "report FILE... [flags]",
      .about =
          "The page of a saved result (.json or .html, as `run -o` wrote it), or with\n"
          "--format json the result in a page. Two to six results, and measured files that\n"
          "`validate` reads, stand side by side, the first as the baseline. Of what `sweep merge`\n"
          "wrote, the page shows what a GPU serves against what a user gets. What `plan`,\n"
          "`validate` and `trace` found is shown in the formats of these verbs.",
      .flags = std::move(flags),
      .formats = {"html", "table", "markdown", "csv", "json", "svg"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto inputs = read_report_inputs(arguments.positionals);
  if (!inputs) {
    return give_up(inputs.error(), manners);
  }
  if (!arguments.has("format")) {
    manners.format = formats_of(*inputs).front();
  }
  // A page or a picture goes to the file that is named, not to the terminal as well.
  if (arguments.has("output") && !arguments.has("format")) {
    manners.format = kQuiet;
  }
  if (const auto fits = check_format(*inputs, arguments, manners); !fits) {
    return give_up(fits.error(), manners);
  }
  auto outputs = VerbOutputs::open(arguments, manners, formats_of(*inputs));
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  return outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        if (inputs->kind == ReportInputs::Kind::kOther) {
          return inputs->view->show(inputs->rows.front(), format, style);
        }
        if (format == "svg") {
          return figure_of(*inputs, arguments.value("figure"));
        }
        return format == "json" ? json_of(*inputs) : page_of(*inputs);
      },
      manners);
}

}  // namespace ridgeline::cli
