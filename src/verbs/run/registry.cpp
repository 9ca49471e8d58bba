#include "verbs/run/registry.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/reader.hpp"
#include "report/chart/terminal_svg.hpp"
#include "report/html_report.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "verbs/run/csv.hpp"
#include "verbs/run/result_json.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"
#include "verbs/run/run_view.hpp"

namespace ridgeline::verbs {
namespace {

std::string render_json(const RunResult& result, const report::TextStyle&) {
  return result_json(result);
}
std::string render_ndjson(const RunResult& result, const report::TextStyle&) {
  return result_ndjson(result);
}
std::string render_csv(const RunResult& result, const report::TextStyle&) {
  return run_csv(result_tree(result, SeriesIn::kNothing));
}
std::string render_table(const RunResult& result, const report::TextStyle& style) {
  return run_text(result_tree(result), report::Face::kTerminal, style);
}
std::string render_markdown(const RunResult& result, const report::TextStyle& style) {
  return run_text(result_tree(result), report::Face::kMarkdown, style);
}
std::string render_page(const RunResult& result, const report::TextStyle&) {
  const document::Node tree = result_tree(result);
  return report::html_report(tree, report::words_of(tree, ""));
}
std::string render_picture(const RunResult& result, const report::TextStyle&) {
  const report::TextStyle window{
      .width = 100, .ascii = false, .palette = report::Palette::ansi(), .saved_to = {}};
  return report::terminal_svg(render_table(result, window), "ridgeline");
}
std::string render_nothing(const RunResult&, const report::TextStyle&) {
  return {};
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

core::Error unknown(std::string message,
                    std::string_view word,
                    const std::vector<std::string>& known) {
  const auto near = document::nearest(word, known);
  return {.code = core::ErrorCode::kUsage,
          .field = "format",
          .message = std::move(message) + ", expected one of " + joined(known),
          .where = {},
          .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string()};
}

}  // namespace

const std::vector<Exporter>& exporters() {
  static const std::vector<Exporter> kExporters = {
      {"table", "one screen for a person", {".txt"}, render_table},
      {"json", "the whole result, indented", {".json"}, render_json},
      {"ndjson", "the whole result on one line", {".ndjson", ".jsonl"}, render_ndjson},
      {"csv", "the summary and every setting as a header and a row", {".csv"}, render_csv},
      {"markdown", "the summary as Markdown tables", {".md"}, render_markdown},
      {"html", "a page with pictures and the result inside", {".html"}, render_page, true},
      {"svg", "a picture of the table", {".svg"}, render_picture},
      {"quiet", "nothing", {}, render_nothing}};
  return kExporters;
}

core::Result<const Exporter*> find_exporter(std::string_view name) {
  std::vector<std::string> known;
  for (const Exporter& exporter : exporters()) {
    if (exporter.name == name) {
      return &exporter;
    }
    known.push_back(exporter.name);
  }
  return core::fail(unknown(fmt::format("unknown format '{}'", name), name, known));
}

core::Result<const Exporter*> exporter_for_path(std::string_view path) {
  std::vector<std::string> known;
  for (const Exporter& exporter : exporters()) {
    for (const auto& extension : exporter.extensions) {
      if (path.ends_with(extension)) {
        return &exporter;
      }
      known.push_back(extension);
    }
  }
  const std::size_t dot = path.rfind('.');
  const std::string_view extension = dot == std::string_view::npos ? "" : path.substr(dot);
  return core::fail(unknown(fmt::format("'{}' does not say a format", path), extension, known));
}

}  // namespace ridgeline::verbs
