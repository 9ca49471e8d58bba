#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

struct Curve {
  std::string_view key;  ///< In series.quantiles, without "_ms".
  std::string_view name;
  std::string_view css_class;
  std::string_view metric;  ///< In summary.slo; empty: it has no target.
  std::string_view summary;
};
constexpr std::array<Curve, 5> kCurves = {
    {{.key = "ttft", .name = "TTFT", .css_class = "la", .metric = "ttft", .summary = "ttft_ms"},
     {.key = "tpot", .name = "TPOT", .css_class = "lb", .metric = "tpot", .summary = "tpot_ms"},
     {.key = "itl", .name = "ITL", .css_class = "le", .metric = "itl", .summary = "itl_ms"},
     {.key = "e2e", .name = "E2E", .css_class = "lc", .metric = "e2e", .summary = "e2e_ms"},
     {.key = "queue_time",
      .name = "queue",
      .css_class = "ld",
      .metric = "",
      .summary = "queue_time_ms"}}};

/// Shorter times are at the left edge: a queue time is often none.
constexpr double kLeastMs = 0.01;

std::vector<double> values_of(const document::Node& result, const Curve& curve) {
  return numbers_at(result, fmt::format("series.quantiles.{}_ms", curve.key));
}

/// The least and the greatest value of all curves; nothing drawn has a logarithm of zero.
std::pair<double, double> extent(const document::Node& result) {
  double lowest = std::numeric_limits<double>::max();
  double highest = 0.0;
  for (const Curve& curve : kCurves) {
    for (const double value : values_of(result, curve)) {
      lowest = std::min(lowest, std::max(value, kLeastMs));
      highest = std::max(highest, value);
    }
  }
  return {lowest, highest};
}

void draw_curve(const document::Node& result,
                const Curve& curve,
                const Scale& x,
                const Scale& y,
                Canvas& canvas) {
  const auto probabilities = numbers_at(result, "series.quantiles.probabilities");
  const auto values = values_of(result, curve);
  std::vector<Spot> spots;
  for (std::size_t i = 0; i < std::min(values.size(), probabilities.size()); ++i) {
    spots.push_back(
        {.x = x.pixel(std::max(values[i], kLeastMs)), .y = y.pixel(probabilities[i] * 100.0)});
  }
  canvas.path(spots, curve.css_class);
  const double limit =
      curve.metric.empty()
          ? 0.0
          : number_at(result, fmt::format("summary.slo.{}.limit_ms", curve.metric));
  if (limit >= x.low && limit <= x.high) {
    canvas.line({.x = x.pixel(limit), .y = y.end}, {.x = x.pixel(limit), .y = y.start}, "target");
    // One above the other: targets can be close.
    const double above = 14.0 * static_cast<double>(&curve - kCurves.data());
    canvas.text({.x = x.pixel(limit) + 3.0, .y = y.start - 4.0 - above},
                "start",
                "quiet",
                fmt::format("{} target {}", curve.name, significant(limit)));
  }
}

void fill_row(const document::Node& result, const Curve& curve, Figure& figure) {
  std::vector<std::string> row = {std::string(curve.name)};
  for (const std::string_view statistic : {"p50", "p90", "p95", "p99", "max"}) {
    row.push_back(
        significant(number_at(result, fmt::format("summary.{}.{}", curve.summary, statistic))));
  }
  figure.description += fmt::format("{}{}: half within {} ms, 99 % within {} ms.",
                                    figure.description.empty() ? "" : " ",
                                    curve.name,
                                    row[1],
                                    row[4]);
  figure.rows.push_back(std::move(row));
}

}  // namespace

Figure distributions(const document::Node& result) {
  constexpr double kBottom = 300.0;
  Figure figure{
      .id = "distributions",
      .title =
          "How long requests take: the share of requests (of gaps: ITL) within a latency, in ms",
      .caption =
          "TTFT and E2E on the client's clock; TPOT is (E2E - TTFT) / (output "
          "tokens - 1), ITL the gaps between tokens; queue is from the engine's queue to the first "
          "step. "
          "Percentiles are exact, over completed requests.",
      .head = {"", "p50 ms", "p90 ms", "p95 ms", "p99 ms", "max ms"}};
  const auto [lowest, highest] = extent(result);
  if (highest <= 0.0) {
    return figure;
  }
  Canvas canvas(kPictureWidth, kBottom + 44.0);
  const Scale x = Scale::logarithmic(lowest, highest, 56.0, kPictureWidth - 70.0);
  const Scale y{.low = 0.0, .high = 100.0, .start = kBottom, .end = 28.0};
  canvas.axis_left(y, x.start, x.end);
  canvas.axis_below(x, kBottom, y.end, "ms, logarithmic");
  canvas.text({.x = 4.0, .y = 12.0}, "start", "quiet", "% of requests");
  double key = y.end + 14.0;
  for (const Curve& curve : kCurves) {
    if (values_of(result, curve).empty()) {
      continue;
    }
    draw_curve(result, curve, x, y, canvas);
    canvas.line(
        {.x = x.end + 8.0, .y = key - 4.0}, {.x = x.end + 24.0, .y = key - 4.0}, curve.css_class);
    canvas.text({.x = x.end + 28.0, .y = key}, "start", "", curve.name);
    key += 18.0;
    fill_row(result, curve, figure);
  }
  figure.draw(canvas);
  return figure;
}

}  // namespace ridgeline::report::figures
