#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "document/document.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

struct Headline {
  std::string_view metric;  ///< In expected_error.
  std::string_view name;
  std::string_view key;  ///< In the prediction.
  std::string_view unit;
};
constexpr std::array<Headline, 4> kHeadlines = {
    {{.metric = "ttft", .name = "mean TTFT", .key = "summary.ttft_ms.mean", .unit = "ms"},
     {.metric = "tpot", .name = "mean TPOT", .key = "summary.tpot_ms.mean", .unit = "ms"},
     {.metric = "e2e", .name = "mean E2E", .key = "summary.e2e_ms.mean", .unit = "ms"},
     {.metric = "output_throughput",
      .name = "output",
      .key = "summary.output_throughput",
      .unit = "tok/s"}}};

/// Where the truth lies for errors of the prediction within a band, as factors of the prediction.
struct Factors {
  double low = 1.0;
  double high = 1.0;

  [[nodiscard]] double low_percent() const { return 100.0 * (low - 1.0); }
  [[nodiscard]] double high_percent() const { return 100.0 * (high - 1.0); }
};
Factors factors_at(const document::Node& result, std::string_view metric, std::string_view band) {
  const auto factor = [&](std::string_view end) {
    const double error =
        number_at(result, fmt::format("expected_error.{}.{}_pct.{}", metric, band, end), 0.0);
    return 1.0 / (1.0 + error / 100.0);
  };
  return {.low = factor("high"), .high = factor("low")};
}

bool has_band(const document::Node& result, std::string_view metric) {
  return number_at(result, fmt::format("expected_error.{}.groups", metric), 0.0) > 0.0;
}

std::string range_text(double value, const Factors& factors, std::string_view unit) {
  return fmt::format(
      "{} to {} {}", significant(value * factors.low), significant(value * factors.high), unit);
}

}  // namespace

Figure error_bars(const document::Node& result) {
  constexpr double kFirst = 22.0;
  constexpr double kRowHeight = 30.0;
  Figure figure{
      .id = "error-bars",
      .title = "How far the headline numbers may be off, in % of the prediction",
      .caption =
          "Model error: where the measured value lay in half of the runs like this one (thick "
          "lines), and in nine of ten (thin ones). Neither the spread of seeds nor an error of "
          "sampling is in them.",
      .head = {"", "predicted", "half within", "nine of ten within"}};
  double widest = 0.0;
  double rows = 0.0;
  for (const Headline& one : kHeadlines) {
    const Factors p90 = factors_at(result, one.metric, "p90");
    widest = std::max({widest, -p90.low_percent(), p90.high_percent()});
    rows += has_band(result, one.metric) ? 1.0 : 0.0;
  }
  if (rows == 0.0) {
    return figure;
  }
  const double bottom = kFirst + kRowHeight * rows;
  Canvas canvas(kPictureWidth, bottom + 40.0);
  const Scale x{.low = -std::max(widest, 1.0),
                .high = std::max(widest, 1.0),
                .start = 250.0,
                .end = kPictureWidth - 30.0};
  canvas.axis_below(x, bottom, 6.0, "% of the prediction");
  double y = kFirst;
  for (const Headline& one : kHeadlines) {
    if (!has_band(result, one.metric)) {
      continue;
    }
    const Factors p90 = factors_at(result, one.metric, "p90");
    const Factors half = factors_at(result, one.metric, "p50");
    const double value = number_at(result, one.key);
    canvas.text({.x = 0.0, .y = y + 4.0}, "start", "strong", one.name);
    canvas.text(
        {.x = 240.0, .y = y + 4.0}, "end", "", fmt::format("{} {}", significant(value), one.unit));
    canvas.whisker(
        y, x.pixel(p90.low_percent()), x.pixel(0.0), x.pixel(p90.high_percent()), "whisker");
    canvas.bar({.x = x.pixel(half.low_percent()), .y = y - 3.0},
               {.x = x.pixel(half.high_percent()), .y = y + 3.0},
               "fa");
    figure.rows.push_back({std::string(one.name),
                           fmt::format("{} {}", significant(value), one.unit),
                           range_text(value, half, one.unit),
                           range_text(value, p90, one.unit)});
    figure.description += fmt::format("{}{}: {} nine times of ten.",
                                      figure.description.empty() ? "" : " ",
                                      one.name,
                                      figure.rows.back()[3]);
    y += kRowHeight;
  }
  figure.draw(canvas);
  return figure;
}

}  // namespace ridgeline::report::figures
