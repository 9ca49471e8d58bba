#include "report/fleet_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {
namespace {

using metrics::Distribution;
using metrics::Metric;
using metrics::Statistic;

constexpr std::size_t kFleetCellWidth = 10;
constexpr std::size_t kFleetMaxWidth = 100;
constexpr std::size_t kFleetMinWidth = 48;

TimeUnit unit_of(const std::optional<Distribution>& values) {
  return time_unit(values ? values->of(Statistic::kMean) : 1.0);
}

}  // namespace

std::string fleet_line(std::string_view title,
                       const std::vector<Piece>& pieces,
                       const TextStyle& style) {
  const auto width = static_cast<std::size_t>(std::max(style.width, 0));
  return wrapped(pad_right(title, kFleetTitleWidth),
                 pieces,
                 {.width = std::clamp(width, kFleetMinWidth, kFleetMaxWidth),
                  .indent = kFleetTitleWidth,
                  .reset = style.palette.reset});
}

FleetRows::FleetRows(const metrics::Summary& summary, const TextStyle& style)
    : style_(style),
      ttft_(unit_of(summary.client.of(Metric::kTtft))),
      tpot_(unit_of(summary.client.of(Metric::kTpot))) {}

std::string FleetRows::header(std::string_view title,
                              std::initializer_list<std::string_view> counts,
                              std::initializer_list<std::string_view> shares) const {
  std::string line = pad_right(title, kFleetTitleWidth);
  const auto add = [&](std::string_view cell) { line += pad_left(cell, kFleetCellWidth); };
  std::ranges::for_each(counts, add);
  for (const auto& [metric, unit] : {std::pair("TTFT", ttft_), std::pair("TPOT", tpot_)}) {
    add(fmt::format("{} p50", metric));
    add(fmt::format("p99 {}", unit.name));
  }
  std::ranges::for_each(shares, add);
  return style_.palette.paint(style_.palette.dim, line) + "\n";
}

std::string FleetRows::row(std::string_view title,
                           std::initializer_list<std::int64_t> counts,
                           const std::optional<Distribution>& ttft_ms,
                           const std::optional<Distribution>& tpot_ms,
                           std::initializer_list<std::optional<double>> shares) const {
  std::string line = pad_right(title, kFleetTitleWidth);
  for (const std::int64_t count : counts) {
    line += pad_left(grouped(count), kFleetCellWidth);
  }
  for (const auto& [values, unit] : {std::pair(&ttft_ms, ttft_), std::pair(&tpot_ms, tpot_)}) {
    for (const Statistic statistic : {Statistic::kP50, Statistic::kP99}) {
      line += pad_left(*values ? significant((*values)->of(statistic) * unit.per_ms) : missing(),
                       kFleetCellWidth);
    }
  }
  for (const std::optional<double>& share : shares) {
    line += pad_left(share ? percent(*share) : missing(), kFleetCellWidth);
  }
  return line + "\n";
}

std::string FleetRows::title_of(std::string_view name) const {
  return shortened(printable(name, style_.ascii), kFleetTitleWidth - 1, style_.ascii);
}

std::string FleetRows::left_out(std::size_t count) {
  return count > kMostRows ? fmt::format("and {} more: --format json\n", count - kMostRows)
                           : std::string();
}

}  // namespace ridgeline::report
