#include "report/chart/heat_lane.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "core/math.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/lanes.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

/// Requests per bin in one window.
struct Column {
  std::size_t first = 0;
  std::vector<std::int64_t> counts;
  std::int64_t all = 0;

  /// The bin with the request of this rank, from 0.
  [[nodiscard]] std::size_t bin_of(std::int64_t rank) const {
    std::size_t bin = 0;
    for (std::int64_t before = counts[0]; before <= rank && bin + 1 < counts.size();) {
      before += counts[++bin];
    }
    return first + bin;
  }
};

std::vector<Column> columns_of(const document::Node& list) {
  std::vector<Column> columns;
  for (const document::Node& item : list.items()) {
    Column& column = columns.emplace_back();
    const auto& numbers = item.items();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i == 0) {
        column.first = static_cast<std::size_t>(numbers[0].as_integer());
      } else {
        column.counts.push_back(numbers[i].as_integer());
        column.all += column.counts.back();
      }
    }
  }
  return columns;
}

double limit_of(const document::Node& result, std::string_view key) {
  return number_at(result, fmt::format("summary.slo.{}.limit_ms", key));
}

/// A bin's share of requests as a rank: 99 of a hundred.
constexpr std::int64_t kHundred = 100;
std::int64_t rank_of_p99(std::int64_t all) {
  return all * 99 / kHundred;
}

/// Lines of one value per window, broken where there is none.
void draw_line(const std::vector<double>& values,
               double window,
               const Scale& y,
               std::string_view css_class,
               Lanes& lanes) {
  std::vector<Spot> spots;
  const auto flush = [&] {
    lanes.canvas().path(spots, css_class);
    spots.clear();
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] <= 0.0) {
      flush();
      continue;
    }
    for (const std::size_t edge : {i, i + 1}) {
      spots.push_back(
          {.x = lanes.time().pixel(static_cast<double>(edge) * window), .y = y.pixel(values[i])});
    }
  }
  flush();
}

}  // namespace

HeatLane draw_heat(const document::Node& result,
                   std::string_view key,
                   std::size_t lane,
                   std::string_view name,
                   Lanes& lanes) {
  HeatLane drawn;
  const document::Node* const list = at_path(result, fmt::format("series.latency_counts.{}", key));
  const auto bounds = numbers_at(result, "series.latency_counts.bin_bounds_ms");
  const double window = number_at(result, "series.latency_counts.window_s", 1.0);
  if (list == nullptr || !list->is_list()) {
    return drawn;
  }
  const std::vector<Column> columns = columns_of(*list);
  std::size_t lowest = bounds.size();
  std::size_t highest = 0;
  std::int64_t most = 0;
  for (const Column& column : columns) {
    if (column.all > 0) {
      lowest = std::min(lowest, column.first);
      highest = std::max(highest, column.first + column.counts.size());
      most = std::max(most, *std::ranges::max_element(column.counts));
    }
  }
  if (most == 0 || highest >= bounds.size()) {
    return drawn;
  }
  const double least = std::max(bounds[lowest], bounds[1]);
  const double limit = limit_of(result, key);
  const Scale y = Scale::logarithmic(limit > 0.0 ? std::min(least, limit) : least,
                                     std::max(bounds[highest], limit),
                                     lanes.bottom(lane),
                                     lanes.top(lane));
  lanes.canvas().axis_left(y, Lanes::kLeft, Lanes::kRight);
  const double span = core::log(static_cast<double>(most) + 1.0);
  std::vector<Canvas::HeatCell> cells;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const Column& column = columns[i];
    const double from = lanes.time().pixel(static_cast<double>(i) * window);
    const double to = lanes.time().pixel(static_cast<double>(i + 1) * window);
    for (std::size_t bin = 0; bin < column.counts.size(); ++bin) {
      if (column.counts[bin] > 0) {
        const std::size_t number = column.first + bin;
        // Dark by the logarithm: a single slow request is seen beside a thousand quick ones.
        cells.push_back({.from = {.x = from, .y = y.pixel(bounds[number + 1])},
                         .to = {.x = to, .y = y.pixel(std::max(bounds[number], least))},
                         .level = core::log(static_cast<double>(column.counts[bin]) + 1.0) / span});
      }
    }
    const auto value = [&](std::int64_t rank) {
      return column.all > 0 ? bounds[column.bin_of(rank) + 1] : 0.0;
    };
    drawn.p50.push_back(value(column.all / 2));
    drawn.p99.push_back(value(rank_of_p99(column.all)));
    drawn.greatest.push_back(value(column.all - 1));
  }
  lanes.canvas().heat(cells);
  draw_line(drawn.p50, window, y, "la", lanes);
  draw_line(drawn.p99, window, y, "lb", lanes);
  std::vector<Lanes::Key> keys = {{"p50", "la"}, {"p99", "lb"}};
  const std::string target = fmt::format("target {}", significant(limit));
  if (limit > 0.0) {
    const double at = y.pixel(limit);
    lanes.canvas().line({.x = Lanes::kLeft, .y = at}, {.x = Lanes::kRight, .y = at}, "target");
    keys.push_back({.name = target, .css_class = "target"});
  }
  lanes.name(lane, name, keys);
  return drawn;
}

std::vector<double> p99_at_most(const document::Node& result,
                                std::string_view key,
                                std::size_t rows) {
  const auto bounds = numbers_at(result, "series.latency_counts.bin_bounds_ms");
  const document::Node* const list = at_path(result, fmt::format("series.latency_counts.{}", key));
  if (list == nullptr || !list->is_list()) {
    return {};
  }
  const std::vector<Column> columns = columns_of(*list);
  std::vector<double> values;
  for (std::size_t i = 0; i < columns.size(); i += rows) {
    Column sum{.first = 0, .counts = std::vector<std::int64_t>(bounds.size(), 0)};
    for (std::size_t j = i; j < std::min(i + rows, columns.size()); ++j) {
      for (std::size_t bin = 0; bin < columns[j].counts.size(); ++bin) {
        sum.counts[columns[j].first + bin] += columns[j].counts[bin];
      }
      sum.all += columns[j].all;
    }
    const std::size_t bin = sum.all > 0 ? sum.bin_of(rank_of_p99(sum.all)) + 1 : 0;
    values.push_back(sum.all > 0 && bin < bounds.size() ? bounds[bin] : 0.0);
  }
  return values;
}

}  // namespace ridgeline::report::figures
