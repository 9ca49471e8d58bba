#include "report/run_changes.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/leaves.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using document::Node;

struct ChangeLine {
  std::string_view path;
  std::string_view name;
  double scale;
  std::string_view unit;
  bool less_is_better;
};
constexpr double kPercentOfShare = 100.0;
constexpr std::array<ChangeLine, 8> kChangeLines = {{
    {"summary.ttft_ms.p50", "TTFT p50", 1.0, "ms", true},
    {"summary.ttft_ms.p99", "TTFT p99", 1.0, "ms", true},
    {"summary.tpot_ms.p50", "TPOT p50", 1.0, "ms", true},
    {"summary.tpot_ms.p99", "TPOT p99", 1.0, "ms", true},
    {"summary.e2e_ms.p99", "E2E p99", 1.0, "ms", true},
    {"summary.output_throughput", "output", 1.0, "tok/s", false},
    {"summary.goodput", "goodput", 1.0, "req/s", false},
    {"summary.kv_cache.peak", "KV peak", kPercentOfShare, "%", true},
}};
constexpr std::size_t kChangeNameWidth = 10;
constexpr std::size_t kChangeValueWidth = 8;

std::string changed_settings(const Node& before, const Node& after, const TextStyle& style) {
  const Node* const old_config = before.find("config");
  const Node* const new_config = after.find("config");
  if (old_config == nullptr || new_config == nullptr) {
    return {};
  }
  const std::string_view none = style.ascii ? "-" : "\u2013";
  std::map<std::string, std::pair<std::string, std::string>> changes;
  for (auto& [path, value] : leaves_of(*old_config)) {
    changes[path] = {std::move(value), std::string(none)};
  }
  for (auto& [path, value] : leaves_of(*new_config)) {
    const auto [place, is_new] = changes.try_emplace(path, std::string(none), "");
    place->second.second = std::move(value);
  }
  std::string text;
  for (const auto& [path, values] : changes) {
    if (values.first != values.second) {
      text += fmt::format("{}: {} -> {}\n",
                          path,
                          printable(values.first, style.ascii),
                          printable(values.second, style.ascii));
    }
  }
  return text;
}

std::string change_text(const ChangeLine& line,
                        const Node& before,
                        const Node& after,
                        const TextStyle& style) {
  const Node* const old_value = at_path(before, line.path);
  const Node* const new_value = at_path(after, line.path);
  if (old_value == nullptr || new_value == nullptr || !old_value->is_number() ||
      !new_value->is_number()) {
    return {};
  }
  const double from = old_value->as_real() * line.scale;
  const double to = new_value->as_real() * line.scale;
  std::string difference;
  if (from > 0.0 && from != to) {
    const bool is_better = (to < from) == line.less_is_better;
    difference = style.palette.paint(is_better ? style.palette.good : style.palette.bad,
                                     fmt::format("  {:+.1f} %", (to / from - 1.0) * 100.0));
  }
  return fmt::format("{}{} -> {} {}{}\n",
                     pad_right(line.name, kChangeNameWidth),
                     pad_left(significant(from), kChangeValueWidth),
                     pad_left(significant(to), kChangeValueWidth),
                     line.unit,
                     difference);
}

}  // namespace

std::string run_changes(const Node& before, const Node& after, const TextStyle& style) {
  std::string text = changed_settings(before, after, style);
  if (text_at(before, "digest") == text_at(after, "digest")) {
    return text + "the same result\n";
  }
  for (const ChangeLine& line : kChangeLines) {
    text += change_text(line, before, after, style);
  }
  return text;
}

}  // namespace ridgeline::report
