#include "report/terminal_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "document/document.hpp"
#include "report/figures/figure.hpp"
#include "report/figures/lanes.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/result_tree.hpp"
#include "report/run_result.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using figures::number_at;
using figures::numbers_at;

constexpr std::size_t kPlotColumns = 40;
/// Where the greatest value is so many times the least, the scale is logarithmic.
constexpr double kLogFrom = 50.0;

/// Requests per bin of a latency over the whole run.
std::vector<double> bin_counts(const Node& result, std::string_view latency) {
  std::vector<double> counts(numbers_at(result, "series.latency_counts.bin_bounds_ms").size(), 0.0);
  const Node* const windows =
      figures::at_path(result, fmt::format("series.latency_counts.{}", latency));
  for (std::size_t i = 0; windows != nullptr && i < windows->items().size(); ++i) {
    const auto& window = windows->items()[i].items();
    for (std::size_t j = 1; j < window.size(); ++j) {
      const auto bin = static_cast<std::size_t>(window.front().as_integer()) + j - 1;
      if (bin < counts.size()) {
        counts[bin] += window[j].as_real();
      }
    }
  }
  return counts;
}

/// The bins spread over columns from the least latency to the greatest.
std::string latency_line(const Node& result,
                         std::string_view name,
                         std::string_view latency,
                         const TextStyle& style) {
  const auto bounds = numbers_at(result, "series.latency_counts.bin_bounds_ms");
  const auto counts = bin_counts(result, latency);
  const auto is_used = [](double count) { return count > 0.0; };
  const auto first = std::ranges::find_if(counts, is_used);
  if (first == counts.end()) {
    return {};
  }
  const auto low_bin = static_cast<std::size_t>(first - counts.begin());
  std::size_t high_bin = low_bin;
  for (std::size_t bin = low_bin; bin + 1 < bounds.size(); ++bin) {
    high_bin = counts[bin] > 0.0 ? bin : high_bin;
  }
  const double low = bounds[low_bin];
  const double high = bounds[high_bin + 1];
  const bool log = low > 0.0 && high / low > kLogFrom;
  const auto place = [&](double ms) {
    const double part =
        log ? core::log(ms / low) / core::log(high / low) : (ms - low) / (high - low);
    return std::clamp(part, 0.0, 1.0) * static_cast<double>(kPlotColumns);
  };
  std::vector<double> columns(kPlotColumns, 0.0);
  for (std::size_t bin = low_bin; bin <= high_bin; ++bin) {
    const double from = place(bounds[bin]);
    const double to = std::max(place(bounds[bin + 1]), from + 1e-9);
    for (auto column = static_cast<std::size_t>(from);
         column < kPlotColumns && static_cast<double>(column) < to;
         ++column) {
      const double left = std::max(from, static_cast<double>(column));
      const double right = std::min(to, static_cast<double>(column + 1));
      columns[column] += counts[bin] * std::max(right - left, 0.0) / (to - from);
    }
  }
  const double target = number_at(result, fmt::format("summary.slo.{}.limit_ms", latency));
  return fmt::format("{:<12} {:>6} {} {:<6}{} p50 {}  p99 {}{}\n",
                     fmt::format("{} ms", name),
                     significant(low),
                     sparkline(columns, style.ascii),
                     significant(high),
                     log ? " log" : "",
                     significant(number_at(result, fmt::format("summary.{}_ms.p50", latency))),
                     significant(number_at(result, fmt::format("summary.{}_ms.p99", latency))),
                     target > 0.0 ? "  target " + significant(target) : "");
}

/// Means of neighbours, as many as there are columns.
std::vector<double> thinned(const std::vector<double>& values) {
  std::vector<double> columns;
  const std::size_t wanted = std::min(values.size(), kPlotColumns);
  for (std::size_t column = 0; column < wanted; ++column) {
    const std::size_t from = column * values.size() / wanted;
    const std::size_t to = std::max((column + 1) * values.size() / wanted, from + 1);
    double sum = 0.0;
    for (std::size_t i = from; i < to; ++i) {
      sum += values[i];
    }
    columns.push_back(sum / static_cast<double>(to - from));
  }
  return columns;
}

std::string time_line(std::string_view name,
                      const std::vector<double>& means,
                      double most,
                      const TextStyle& style) {
  return fmt::format("{:<12} {:>6} {} most {}\n",
                     name,
                     0,
                     sparkline(thinned(means), style.ascii),
                     significant(most));
}

double greatest_of(const std::vector<double>& values) {
  return values.empty() ? 0.0 : *std::ranges::max_element(values);
}

}  // namespace

std::string sparkline(const std::vector<double>& values, bool ascii) {
  constexpr std::array<std::string_view, 8> kBlocks = {
      "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  constexpr std::string_view kAscii = " .:-=+*#%@";
  const double most = greatest_of(values);
  const auto levels = static_cast<double>(ascii ? kAscii.size() : kBlocks.size());
  std::string line;
  for (const double value : values) {
    const double part = most > 0.0 ? value / most : 0.0;
    const auto level =
        static_cast<std::size_t>(std::clamp(std::ceil(part * levels) - 1.0, 0.0, levels - 1.0));
    if (ascii) {
      line += kAscii[level];
    } else {
      line += kBlocks[level];
    }
  }
  return line;
}

std::string terminal_plot(const RunResult& result, const TextStyle& style) {
  if (!result.series) {
    return {};
  }
  const Node tree = result_tree(result);
  std::string text =
      latency_line(tree, "TTFT", "ttft", style) + latency_line(tree, "TPOT", "tpot", style);
  text += time_line("running",
                    numbers_at(tree, "series.gauges.running.mean"),
                    greatest_of(numbers_at(tree, "series.gauges.running.max")),
                    style);
  const auto waiting = numbers_at(tree, "series.gauges.waiting.mean");
  text += time_line("waiting", waiting, greatest_of(waiting), style);
  const double capacity = number_at(tree, "series.gauges.kv_capacity_tokens");
  text += time_line(capacity > 0.0 ? "KV %" : "KV tokens",
                    numbers_at(tree, "series.gauges.kv_tokens.mean"),
                    greatest_of(numbers_at(tree, "series.gauges.kv_tokens.max")) *
                        (capacity > 0.0 ? 100.0 / capacity : 1.0),
                    style);
  const auto tokens = figures::per_second(tree, "series.rates.decode_tokens", 4);
  text += time_line("decode tok/s", tokens, greatest_of(tokens), style);
  const std::string end = significant(number_at(tree, "series.end_s")) + " s";
  return text + fmt::format("{:<19} {:<{}}{}\n",
                            "",
                            "0 s",
                            std::max<std::size_t>(kPlotColumns, end.size()) - end.size(),
                            end);
}

}  // namespace ridgeline::report
