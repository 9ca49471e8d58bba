#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/heat_lane.hpp"
#include "report/chart/lanes.hpp"
#include "report/chart/marks.hpp"
#include "report/format.hpp"

namespace ridgeline::report::figures {
namespace {

double greatest(const std::vector<double>& values) {
  return values.empty() ? 0.0 : *std::ranges::max_element(values);
}

/// When a list is at its greatest, in words.
std::string peak_text(const document::Node& result,
                      const std::vector<double>& values,
                      std::string_view what) {
  const auto place = std::ranges::max_element(values) - values.begin();
  return fmt::format(
      "{} at most {}, {} into the run.",
      what,
      significant(greatest(values)),
      human_duration(static_cast<double>(place) * number_at(result, "series.window_s")));
}

/// Windows that a rate is drawn over: counts of single ones jump about.
constexpr std::size_t kTogether = 4;

void draw_requests(const document::Node& result, Lanes& lanes) {
  const auto arrivals = per_second(result, "series.rates.arrivals", kTogether);
  const auto completions = per_second(result, "series.rates.completions", kTogether);
  const double most = std::max(greatest(arrivals), greatest(completions));
  const Scale y =
      lanes.axis(0, most, "requests per second", {{"arrive", "la"}, {"complete", "lb"}});
  lanes.step(arrivals, y, "la", kTogether);
  lanes.step(completions, y, "lb", kTogether);
}

void draw_batch(const document::Node& result, Lanes& lanes) {
  const auto greatest_batch = numbers_at(result, "series.gauges.running.max");
  const auto waiting = numbers_at(result, "series.gauges.waiting.mean");
  const double most = std::max(greatest(greatest_batch), greatest(waiting));
  const Scale y = lanes.axis(1, most, "requests", {{"running", "la"}, {"waiting", "lb"}});
  lanes.band(numbers_at(result, "series.gauges.running.min"), greatest_batch, y, "ba");
  lanes.step(numbers_at(result, "series.gauges.running.mean"), y, "la");
  lanes.step(waiting, y, "lb");
}

void draw_kv(const document::Node& result, Lanes& lanes) {
  const double capacity = number_at(result, "series.gauges.kv_capacity_tokens");
  const auto kv = [&](std::string_view statistic) {
    auto values = numbers_at(result, fmt::format("series.gauges.kv_tokens.{}", statistic));
    for (double& value : values) {
      value = capacity > 0.0 ? value * 100.0 / capacity : value;
    }
    return values;
  };
  const auto most = kv("max");
  const Scale y = lanes.axis(2,
                             greatest(most),
                             capacity > 0.0 ? "KV cache in use, %" : "tokens with KV",
                             {{"mean", "lc"}});
  lanes.band(kv("min"), most, y, "bc");
  lanes.step(kv("mean"), y, "lc");
}

void draw_tokens(const document::Node& result, Lanes& lanes) {
  const auto decode = per_second(result, "series.rates.decode_tokens", kTogether);
  const auto prefill = per_second(result, "series.rates.prefill_tokens", kTogether);
  const double most = std::max(greatest(decode), greatest(prefill));
  const Scale y = lanes.axis(3, most, "tokens per second", {{"prefill", "la"}, {"decode", "lb"}});
  lanes.step(prefill, y, "la", kTogether);
  lanes.step(decode, y, "lb", kTogether);
}

/// The mean of each `rows` values together.
std::vector<double> means_of(const std::vector<double>& values, std::size_t rows) {
  std::vector<double> means;
  for (std::size_t i = 0; i < values.size(); i += rows) {
    const std::size_t end = std::min(i + rows, values.size());
    double sum = 0.0;
    for (std::size_t j = i; j < end; ++j) {
      sum += values[j];
    }
    means.push_back(sum / static_cast<double>(end - i));
  }
  return means;
}

/// As many rows as a reader looks at, each of all windows up to the next one.
void fill_table(const document::Node& result, Figure& figure) {
  constexpr std::size_t kRows = 32;
  constexpr std::size_t kOfHistogram = 8;  ///< Windows of one histogram of latencies.
  const double window = number_at(result, "series.window_s");
  const std::size_t windows = numbers_at(result, "series.rates.arrivals").size();
  const std::size_t histograms = (windows - 1) / (kRows * kOfHistogram) + 1;
  const std::size_t rows = histograms * kOfHistogram;
  const auto arrivals = per_second(result, "series.rates.arrivals", rows);
  const auto running = means_of(numbers_at(result, "series.gauges.running.mean"), rows);
  const auto waiting = means_of(numbers_at(result, "series.gauges.waiting.mean"), rows);
  const auto decode = per_second(result, "series.rates.decode_tokens", rows);
  const auto ttft = p99_at_most(result, "ttft", histograms);
  const auto tpot = p99_at_most(result, "tpot", histograms);
  const auto latency = [](const std::vector<double>& values, std::size_t i) {
    return i < values.size() && values[i] > 0.0 ? significant(values[i]) : std::string("-");
  };
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    figure.rows.push_back({human_duration(static_cast<double>(i * rows) * window),
                           significant(arrivals[i]),
                           significant(running[i]),
                           significant(waiting[i]),
                           significant(decode[i]),
                           latency(ttft, i),
                           latency(tpot, i)});
  }
}

}  // namespace

Figure clock(const document::Node& result) {
  constexpr double kLane = 92.0;
  constexpr double kHeat = 140.0;
  Figure figure{.id = "clock",
                .title = "What happened when: six lanes over simulated time",
                .caption =
                    "Means over windows of equal length, rates over four of them; the shaded bands "
                    "reach from the "
                    "least to the greatest value in each. Requests count where they "
                    "arrive or end, tokens where their step ends; KV is that of the batch, "
                    "of what one instance's blocks hold. The last two lanes have the requests "
                    "by their arrival, darker where there are more. A row of the table is the "
                    "time up to the next row; its p99 are rounded up, by at most 6.25 %.",
                .head = {"from",
                         "arrivals/s",
                         "running",
                         "waiting",
                         "decode tok/s",
                         "TTFT p99 ms, at most",
                         "TPOT p99 ms, at most"}};
  if (at_path(result, "series") == nullptr) {
    return figure;
  }
  Lanes lanes(result, {kLane, kLane, kLane, kLane, kHeat, kHeat});
  draw_requests(result, lanes);
  draw_batch(result, lanes);
  draw_kv(result, lanes);
  draw_tokens(result, lanes);
  draw_heat(result, "ttft", 4, "TTFT, ms", lanes);
  draw_heat(result, "tpot", 5, "TPOT, ms", lanes);
  lanes.time_axis();
  figure.draw(lanes.canvas());
  figure.time_axis = lanes.place();
  figure.description =
      peak_text(result,
                numbers_at(result, "series.gauges.running.mean"),
                "Requests running: on average") +
      " " +
      peak_text(result, numbers_at(result, "series.gauges.waiting.mean"), "Waiting: on average");
  fill_table(result, figure);
  return figure;
}

}  // namespace ridgeline::report::figures
