#include "verbs/steps_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using report::figures::number_at;

/// What took how much of the time, the most first.
void add_shares(std::string title, const Node& tree, std::string_view path, report::Sheet& sheet) {
  report::TableView view{
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
  sheet.gap().table(std::move(view), rows);
}

std::int64_t whole_at(const Node& tree, std::string_view path) {
  return std::llround(number_at(tree, path));
}

}  // namespace

report::Sheet steps_sheet(const Node& tree) {
  report::Sheet sheet("Where the time went");
  sheet.row(fmt::format("{} in {}, busy {} ms",
                        report::counted(whole_at(tree, "steps"), "step"),
                        report::counted(whole_at(tree, "lines"), "record"),
                        report::significant(number_at(tree, "busy_us") / 1000.0)));
  add_shares("bottleneck", tree, "by_bottleneck", sheet);
  add_shares("phase", tree, "by_phase", sheet);
  add_shares("operator", tree, "by_operator", sheet);
  for (const auto& phase : members_at(tree, "bottleneck_by_phase")) {
    add_shares("of " + phase.key, tree, "bottleneck_by_phase." + phase.key, sheet);
  }
  sheet.gap().row(fmt::format("ridge crossings: {} from memory to compute, {} back",
                              whole_at(tree, "ridge_crossings.memory_to_compute"),
                              whole_at(tree, "ridge_crossings.compute_to_memory")));
  if (whole_at(tree, "table_lookups") > 0) {
    sheet.row(fmt::format("{}: {} hits, {} without a row of its own; the farthest {} away",
                          report::counted(whole_at(tree, "table_lookups"), "look-up"),
                          report::percent(number_at(tree, "hit_rate")),
                          report::percent(number_at(tree, "miss_rate")),
                          report::significant(number_at(tree, "farthest_miss"))));
  }
  return sheet;
}

}  // namespace ridgeline::verbs
