#include "report/chart/compare.hpp"

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
#include "report/chart/lanes.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

constexpr std::array<std::string_view, 6> kRunLines = {"la", "lb", "lc", "ld", "le", "lf"};
/// Characters of a run's name in a picture's key.
constexpr std::size_t kLongestName = 40;

struct Panel {
  std::string_view name;
  std::string_view quantiles;
  std::string_view summary;
};
constexpr std::array<Panel, 3> kPanels = {
    {{.name = "TTFT", .quantiles = "series.quantiles.ttft_ms", .summary = "summary.ttft_ms"},
     {.name = "TPOT", .quantiles = "series.quantiles.tpot_ms", .summary = "summary.tpot_ms"},
     {.name = "E2E", .quantiles = "series.quantiles.e2e_ms", .summary = "summary.e2e_ms"}}};

/// A latency in milliseconds and the share of requests within it.
using Point = std::pair<double, double>;

std::vector<Point> curve_of(const document::Node& result, const Panel& panel) {
  std::vector<Point> points;
  const auto values = numbers_at(result, panel.quantiles);
  const auto probabilities = numbers_at(result, "series.quantiles.probabilities");
  for (std::size_t i = 0; i < std::min(values.size(), probabilities.size()); ++i) {
    points.emplace_back(values[i], probabilities[i]);
  }
  if (!points.empty()) {
    return points;
  }
  constexpr std::array<std::pair<std::string_view, double>, 5> kPercentiles = {
      {{"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1.0}}};
  for (const auto& [statistic, probability] : kPercentiles) {
    const double value = number_at(result, fmt::format("{}.{}", panel.summary, statistic), -1.0);
    if (value > 0.0) {
      points.emplace_back(value, probability);
    }
  }
  return points;
}

/// Keys of the runs below each other from `at` down.
void draw_run_keys(const std::vector<OneOf>& runs, Spot at, Canvas& canvas) {
  constexpr double kKeyRow = 17.0;
  constexpr double kKeyColumn = 310.0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::size_t line = i / 3;
    const Spot key = {.x = at.x + kKeyColumn * static_cast<double>(i % 3),
                      .y = at.y + kKeyRow * static_cast<double>(line)};
    canvas.line(key, {.x = key.x + 24.0, .y = key.y}, line_of(i, runs[i].measured));
    canvas.text({.x = key.x + 30.0, .y = key.y + 4.0},
                "start",
                "",
                shortened(runs[i].name, kLongestName, false) + (runs[i].measured ? " (measured)"
                                                                : i == 0         ? " (baseline)"
                                                                                 : ""));
  }
}

void draw_panel(
    const std::vector<OneOf>& runs, const Panel& panel, double left, double right, Canvas& canvas) {
  constexpr double kTop = 62.0;
  constexpr double kBottom = 320.0;
  constexpr double kShortestMs = 0.01;  ///< Shorter ones are at the left edge.
  double lowest = std::numeric_limits<double>::max();
  double highest = 0.0;
  std::vector<std::vector<Point>> curves;
  for (const OneOf& run : runs) {
    curves.push_back(curve_of(*run.result, panel));
    for (const auto& [value, share] : curves.back()) {
      lowest = std::min(lowest, std::max(value, kShortestMs));
      highest = std::max(highest, value);
    }
  }
  canvas.text({.x = left, .y = kTop - 8.0}, "start", "strong", panel.name);
  if (highest <= 0.0) {
    return;
  }
  const Scale x = Scale::logarithmic(lowest, highest, left, right);
  const Scale y{.low = 0.0, .high = 100.0, .start = kBottom, .end = kTop};
  canvas.axis_left(y, left, right);
  canvas.axis_below(x, kBottom, kTop, "ms, logarithmic");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::vector<Spot> spots;
    for (const auto& [value, share] : curves[i]) {
      spots.push_back({.x = x.pixel(std::max(value, kShortestMs)), .y = y.pixel(share * 100.0)});
    }
    canvas.path(spots, line_of(i, runs[i].measured));
  }
}

struct Gauge {
  std::string_view name;
  std::vector<double> (*values)(const document::Node& result);
  std::size_t windows;  ///< That each value is of.
};

constexpr std::size_t kWindowsTogether = 4;

constexpr std::array<Gauge, 4> kGauges = {
    {{.name = "requests completed per second",
      .values =
          [](const document::Node& result) {
            return per_second(result, "series.rates.completions", kWindowsTogether);
          },
      .windows = kWindowsTogether},
     {.name = "requests running",
      .values =
          [](const document::Node& result) {
            return numbers_at(result, "series.gauges.running.mean");
          },
      .windows = 1},
     {.name = "requests waiting",
      .values =
          [](const document::Node& result) {
            return numbers_at(result, "series.gauges.waiting.mean");
          },
      .windows = 1},
     {.name = "KV cache in use, %",
      .values =
          [](const document::Node& result) {
            auto values = numbers_at(result, "series.gauges.kv_tokens.mean");
            const double capacity = number_at(result, "series.gauges.kv_capacity_tokens");
            for (double& value : values) {
              value = capacity > 0.0 ? value * 100.0 / capacity : 0.0;
            }
            return values;
          },
      .windows = 1}}};

}  // namespace

std::string line_of(std::size_t i, bool measured) {
  return std::string(kRunLines[i % kRunLines.size()]) + (measured ? " measured" : "");
}

Figure compared_distributions(const std::vector<OneOf>& runs) {
  constexpr double kBetween = 320.0;
  Figure figure{.id = "distributions",
                .title = "How long requests take: the share of requests within a latency, in ms",
                .caption =
                    "On the client's clock. A run without series and a measured file are drawn "
                    "through the percentiles that they have.",
                .head = {"", "run", "p50 ms", "p90 ms", "p99 ms"}};
  Canvas canvas(kPictureWidth, 366.0);
  draw_run_keys(runs, {.x = 4.0, .y = 10.0}, canvas);
  double left = 40.0;
  for (const Panel& panel : kPanels) {
    draw_panel(runs, panel, left, left + kBetween - 60.0, canvas);
    left += kBetween;
    for (const OneOf& run : runs) {
      std::vector<std::string> row = {std::string(panel.name), run.name};
      for (const std::string_view statistic : {"p50", "p90", "p99"}) {
        const double value =
            number_at(*run.result, fmt::format("{}.{}", panel.summary, statistic), -1.0);
        row.push_back(value < 0.0 ? "-" : significant(value));
      }
      figure.description += fmt::format("{}{} of {}: half within {} ms.",
                                        figure.description.empty() ? "" : " ",
                                        panel.name,
                                        run.name,
                                        row[2]);
      figure.rows.push_back(std::move(row));
    }
  }
  figure.draw(canvas);
  return figure;
}

Figure compared_clock(const std::vector<OneOf>& runs) {
  constexpr double kLane = 92.0;
  Figure figure{.id = "clock",
                .title = "What happened when: the runs on one clock",
                .caption =
                    "Means over windows of equal length, of each run from its own beginning; of "
                    "one instance where there are several.",
                .head = {"", "run", "greatest"}};
  const document::Node* longest = nullptr;
  for (const OneOf& run : runs) {
    const double end = number_at(*run.result, "series.end_s", -1.0);
    if (end >= 0.0 && (longest == nullptr || end > number_at(*longest, "series.end_s"))) {
      longest = run.result;
    }
  }
  if (longest == nullptr) {
    return figure;
  }
  Lanes lanes(*longest, std::vector<double>(kGauges.size(), kLane));
  for (std::size_t lane = 0; lane < kGauges.size(); ++lane) {
    const Gauge& gauge = kGauges[lane];
    double most = 0.0;
    for (const OneOf& run : runs) {
      const auto values = gauge.values(*run.result);
      const double greatest = values.empty() ? 0.0 : *std::ranges::max_element(values);
      most = std::max(most, greatest);
      if (!values.empty()) {
        figure.rows.push_back({std::string(gauge.name), run.name, significant(greatest)});
      }
    }
    const Scale y = lanes.axis(lane, most, gauge.name, {});
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double window = number_at(*runs[i].result, "series.window_s");
      lanes.canvas().step(gauge.values(*runs[i].result),
                          window * static_cast<double>(gauge.windows),
                          lanes.time(),
                          y,
                          line_of(i, runs[i].measured));
    }
  }
  lanes.time_axis();
  figure.draw(lanes.canvas());
  figure.description = fmt::format("{} lanes of {} runs.", kGauges.size(), runs.size());
  return figure;
}

}  // namespace ridgeline::report::figures
