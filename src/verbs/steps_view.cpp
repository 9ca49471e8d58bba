#include "verbs/steps_view.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/figures/figure.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using report::figures::number_at;

/// What took how much of the time, the most first.
std::string shares(std::string title,
                   const Node& tree,
                   std::string_view path,
                   const report::TextStyle& style) {
  const report::TableView view{
      .columns = {
          {.title = std::move(title), .path = "name", .width = 20},
          {.title = "steps", .path = "steps", .format = report::Format::kCount, .width = 10},
          {.title = "ms",
           .path = "us",
           .format = report::Format::kSignificant,
           .scale = 1e-3,
           .width = 10},
          {.title = "time", .path = "share", .format = report::Format::kShare, .width = 7}}};
  report::Rows rows = report::rows_at(tree, path);
  std::ranges::stable_sort(
      rows, std::greater(), [](const Node* row) { return number_at(*row, "us"); });
  return report::render(view, rows, report::Face::kTerminal, style);
}

std::int64_t count_at(const Node& tree, std::string_view path) {
  return std::llround(number_at(tree, path));
}

}  // namespace

std::string steps_table(const Node& tree, const report::TextStyle& style) {
  std::string text = fmt::format("{} in {}, busy {} ms\n\n",
                                 report::counted(count_at(tree, "steps"), "step"),
                                 report::counted(count_at(tree, "lines"), "record"),
                                 report::significant(number_at(tree, "busy_us") / 1000.0));
  text += shares("bottleneck", tree, "by_bottleneck", style) + "\n";
  text += shares("phase", tree, "by_phase", style) + "\n";
  text += shares("operator", tree, "by_operator", style);
  for (const auto& phase : members_at(tree, "bottleneck_by_phase")) {
    text += "\n" + shares("of " + phase.key, tree, "bottleneck_by_phase." + phase.key, style);
  }
  text += fmt::format("\nridge crossings: {} from memory to compute, {} back\n",
                      count_at(tree, "ridge_crossings.memory_to_compute"),
                      count_at(tree, "ridge_crossings.compute_to_memory"));
  if (count_at(tree, "table_lookups") > 0) {
    text += fmt::format("{}: {} hits, {} without a row of its own; the farthest {} away\n",
                        report::counted(count_at(tree, "table_lookups"), "look-up"),
                        report::percent(number_at(tree, "hit_rate")),
                        report::percent(number_at(tree, "miss_rate")),
                        report::significant(number_at(tree, "farthest_miss")));
  }
  return text;
}

}  // namespace ridgeline::verbs
