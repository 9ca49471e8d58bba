#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_json.hpp"
#include "report/chart/figure.hpp"
#include "report/comparison_page.hpp"
#include "report/front_page.hpp"
#include "report/html_report.hpp"
#include "report/palette.hpp"
#include "report/saved_result.hpp"
#include "report/table/table.hpp"
#include "sweep/merge.hpp"
#include "verbs/registry.hpp"
#include "verbs/report_inputs.hpp"
#include "verbs/run/csv.hpp"
#include "verbs/run/run_view.hpp"
#include "verbs/saved_views.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
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

document::Node result_of(const ReportInputs& inputs) {
  return inputs.runs.size() == 1 ? inputs.runs.front().result : report::page_runs_tree(inputs.runs);
}

std::string line_of(const ReportInputs& inputs) {
  return document::json_line(result_of(inputs));
}

std::string row_of(const ReportInputs& inputs) {
  return run_csv(inputs.runs.front().result);
}

std::string sweep_csv(const ReportInputs& inputs) {
  std::vector<std::string> rows;
  for (const document::Node& row : inputs.rows) {
    rows.push_back(document::json_line(row));
    rows.back().pop_back();
  }
  return sweep::csv_of(rows);
}

std::vector<report::figures::Figure> figures_of(const ReportInputs& inputs) {
  return inputs.runs.size() == 1 ? report::figures::all_figures(inputs.runs.front().result)
                                 : std::vector<report::figures::Figure>();
}

/// The formats of what was read, the usual one first.
std::vector<std::string> formats_of(const ReportInputs& inputs) {
  if (inputs.kind == ReportInputs::Kind::kOther) {
    return {inputs.view->formats.begin(), inputs.view->formats.end()};
  }
  if (inputs.kind != ReportInputs::Kind::kRuns) {
    return {"html", "csv"};
  }
  return inputs.runs.size() == 1
             ? std::vector<std::string>{"html", "json", "svg", "table", "markdown", "csv"}
             : std::vector<std::string>{"html", "json", "svg"};
}

/// What the words ask of the inputs: JSON and single pictures are of runs.
core::Result<void> check_format(const ReportInputs& inputs,
                                const std::string& figure,
                                const Request& request,
                                const Host& host) {
  if (inputs.kind != ReportInputs::Kind::kRuns && host.wants("json")) {
    return core::fail(request.problem("format",
                                      fmt::format("'{}' is JSON already", inputs.file),
                                      fmt::format("--format {}", formats_of(inputs).front())));
  }
  const bool wants_svg = host.wants("svg");
  if (wants_svg == figure.empty()) {
    return core::fail(request.problem("figure",
                                      wants_svg ? "is missing: an SVG file holds one picture"
                                                : "names a picture, which only an SVG file holds",
                                      "--figure clock -o clock.svg"));
  }
  if (!wants_svg) {
    return {};
  }
  if (inputs.runs.size() != 1) {
    return core::fail(request.problem("figure", "is a picture of one run", "one file"));
  }
  std::vector<std::string> names;
  for (const auto& known : figures_of(inputs)) {
    names.push_back(known.id);
  }
  if (names.empty()) {
    return core::fail(
        request.problem("figure", "the result has no series to draw", "ridgeline run --series"));
  }
  return std::ranges::find(names, figure) == names.end()
             ? core::Result<void>(core::fail(bad_choice(request.field("figure"), figure, names)))
             : core::Result<void>();
}

std::string figure_of(const ReportInputs& inputs, const std::string& name) {
  for (const auto& figure : figures_of(inputs)) {
    if (figure.id == name) {
      return report::figures::standalone_svg(figure);
    }
  }
  return {};
}

/// Files that the words name; a host names one file, several, or hands a result over.
core::Result<ReportInputs> take_inputs(Request& request) {
  if (const document::Node result = request.take("result"); !result.is_null()) {
    request.end();
    auto checked = report::checked_result(result, "result");
    request.keep(checked);
    return request.errors().empty()
               ? core::Result<ReportInputs>(
                     ReportInputs{.runs = {{.name = "result", .result = std::move(*checked)}}})
               : core::fail(request.errors());
  }
  std::vector<std::string> files = request.take_texts("files");
  if (!request.is_words() && files.empty()) {
    files.push_back(request.take_file(""));
  }
  request.end();
  return request.errors().empty() ? read_report_inputs(files) : core::fail(request.errors());
}

core::Result<Reply> report_saved(Request& request, Host& host) {
  const std::string figure = request.take_text("figure");
  auto taken = take_inputs(request);
  if (!taken) {
    return core::fail(std::move(taken).error());
  }
  const auto inputs = shared(std::move(*taken));
  if (const auto fits = check_format(*inputs, figure, request, host); !fits) {
    return core::fail(fits.error());
  }
  if (inputs->kind == ReportInputs::Kind::kOther) {
    Reply reply{.usual_format = formats_of(*inputs).front()};
    for (const std::string& format : formats_of(*inputs)) {
      reply.views[format] = [inputs, format](const report::TextStyle& style) {
        return inputs->view->show(inputs->rows.front(), format, style);
      };
    }
    return reply;
  }
  Reply reply{.tree = tree_of(inputs, result_of),
              .views = {{"html", view_of(inputs, page_of)},
                        {"ndjson", view_of(inputs, line_of)},
                        {"svg",
                         [inputs, figure](const report::TextStyle&) {
                           return figure_of(*inputs, figure);
                         }}},
              .figures = [inputs] { return figures_of(*inputs); }};
  if (inputs->kind == ReportInputs::Kind::kSweep) {
    reply.views["csv"] = view_of(inputs, sweep_csv);
  } else if (inputs->runs.size() == 1) {
    for (const char* const format : {"table", "markdown"}) {
      reply.views[format] = [inputs, format](const report::TextStyle& style) {
        return run_text(inputs->runs.front().result, report::face_of(format), style);
      };
    }
    reply.views["csv"] = view_of(inputs, row_of);
  }
  return reply;
}

}  // namespace

Verb report_verb() {
  return {
      .name = "report",
      .summary = "the page of a saved result, and back",
      .usage = "report FILE... [flags]",
      .about =
          "The page of a saved result (.json or .html, as `run -o` wrote it), or with\n"
          "--format json the result in a page. Two to six results, and measured files that\n"
          "`validate` reads, stand side by side, the first as the baseline. Of what `sweep merge`\n"
          "wrote, the page shows what a GPU serves against what a user gets. What `plan`,\n"
          "`validate` and `trace` found is shown in the formats of these verbs.",
      .words = "files",
      .parameters = {output_parameter(),
                     {.key = "figure",
                      .value = "NAME",
                      .help = "One picture of a run as an SVG file: clock, distributions, time, "
                              "operators, ..."}},
      .formats = {"html", "table", "markdown", "csv", "json", "svg"},
      .shows_one = true,
      .run = report_saved};
}

}  // namespace ridgeline::verbs
