#include "report/terminal_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/chart/lanes.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"

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
  const Node* const windows = at_path(result, fmt::format("series.latency_counts.{}", latency));
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

/// The picture of one row between its label and what is said of it: the line with both, below what
/// is above it.
struct PlotRow {
  std::string name;
  std::string low;
  std::string high;  ///< Empty: the scale begins anew with each picture.
  std::string said;
};

class Plot {
 public:
  Plot(const TextStyle& style, PlotHeight height) : style_(style), height_(height) {}

  /// Values that a row has room for.
  [[nodiscard]] std::size_t columns() const {
    return height_ == PlotHeight::kTall && !style_.ascii ? 2 * kPlotColumns : kPlotColumns;
  }
  [[nodiscard]] std::string row(const PlotRow& row, const std::vector<double>& values) const {
    constexpr std::size_t kMargin = 20;
    const auto bars = height_ == PlotHeight::kTall
                          ? tall_bars(values, style_.ascii)
                          : std::vector<std::string>{sparkline(values, style_.ascii)};
    std::string text;
    for (std::size_t i = 0; i + 1 < bars.size(); ++i) {
      text += std::string(kMargin, ' ') + bars[i] + "\n";
    }
    return text + fmt::format(
                      "{:<12} {:>6} {} {}{}\n", row.name, row.low, bars.back(), row.high, row.said);
  }

 private:
  const TextStyle& style_;
  PlotHeight height_;
};

std::string latency_line(const Node& result,
                         std::string_view name,
                         std::string_view latency,
                         const Plot& plot) {
  const auto spread = latency_spread(result, latency, plot.columns());
  if (!spread) {
    return {};
  }
  const double target = number_at(result, fmt::format("summary.slo.{}.limit_ms", latency));
  const auto of = [&](std::string_view statistic) {
    return significant(number_at(result, fmt::format("summary.{}_ms.{}", latency, statistic)));
  };
  return plot.row({.name = fmt::format("{} ms", name),
                   .low = significant(spread->low_ms),
                   .high = fmt::format("{:<6}", significant(spread->high_ms)),
                   .said = fmt::format("{} p50 {}  p99 {}{}",
                                       spread->is_log ? " log" : "",
                                       of("p50"),
                                       of("p99"),
                                       target > 0.0 ? "  target " + significant(target) : "")},
                  spread->columns);
}

/// Means of neighbours, as many as there are columns.
std::vector<double> thinned(const std::vector<double>& values, std::size_t most) {
  std::vector<double> columns;
  const std::size_t wanted = std::min(values.size(), most);
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
                      const Plot& plot) {
  return plot.row(
      {.name = std::string(name), .low = "0", .high = "most " + significant(most), .said = {}},
      thinned(means, plot.columns()));
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

std::vector<std::string> tall_bars(const std::vector<double>& values, bool ascii) {
  constexpr std::size_t kRows = 4;
  constexpr std::size_t kDots = 4;  ///< Dots of a Braille character, one above the other.
  // Unicode 15, chapter 21.1: U+2800 and a bit per dot; of the left and of the right column, from
  // above.
  constexpr std::array<std::array<unsigned, kDots>, 2> kBits = {
      {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
  constexpr std::string_view kAscii = " .-=#";
  const double most = greatest_of(values);
  std::vector<std::string> rows(kRows);
  const auto filled = [&](std::size_t column, std::size_t row) {
    if (column >= values.size() || most <= 0.0) {
      return std::size_t{0};
    }
    const auto height = static_cast<std::size_t>(
        std::clamp(std::ceil(values[column] / most * (kRows * kDots)), 0.0, 1.0 * kRows * kDots));
    const std::size_t below = (kRows - 1 - row) * kDots;
    return std::clamp(height, below, below + kDots) - below;
  };
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t at = 0; at < values.size(); at += ascii ? 1 : 2) {
      if (ascii) {
        rows[row] += kAscii[filled(at, row)];
        continue;
      }
      unsigned bits = 0;
      for (std::size_t side = 0; side < 2; ++side) {
        for (std::size_t dot = kDots - filled(at + side, row); dot < kDots; ++dot) {
          bits |= kBits[side][dot];
        }
      }
      // The three bytes of UTF-8 of U+2800 + bits.
      rows[row] += static_cast<char>(0xE2);
      rows[row] += static_cast<char>(0xA0 + (bits >> 6));
      rows[row] += static_cast<char>(0x80 + (bits & 0x3F));
    }
  }
  return rows;
}

std::optional<LatencySpread> latency_spread(const Node& result,
                                            std::string_view latency,
                                            std::size_t columns) {
  const auto bounds = numbers_at(result, "series.latency_counts.bin_bounds_ms");
  const auto counts = bin_counts(result, latency);
  const auto is_used = [](double count) { return count > 0.0; };
  const auto first = std::ranges::find_if(counts, is_used);
  if (first == counts.end()) {
    return std::nullopt;
  }
  const auto low_bin = static_cast<std::size_t>(first - counts.begin());
  std::size_t high_bin = low_bin;
  for (std::size_t bin = low_bin; bin + 1 < bounds.size(); ++bin) {
    high_bin = counts[bin] > 0.0 ? bin : high_bin;
  }
  LatencySpread spread;
  const double low = spread.low_ms = bounds[low_bin];
  const double high = spread.high_ms = bounds[high_bin + 1];
  spread.is_log = low > 0.0 && high / low > kLogFrom;
  const auto place = [&](double ms) {
    const double part =
        spread.is_log ? core::log(ms / low) / core::log(high / low) : (ms - low) / (high - low);
    return std::clamp(part, 0.0, 1.0) * static_cast<double>(columns);
  };
  spread.columns.resize(columns);
  for (std::size_t bin = low_bin; bin <= high_bin; ++bin) {
    const double from = place(bounds[bin]);
    const double to = std::max(place(bounds[bin + 1]), from + 1e-9);
    for (auto column = static_cast<std::size_t>(from);
         column < columns && static_cast<double>(column) < to;
         ++column) {
      const double left = std::max(from, static_cast<double>(column));
      const double right = std::min(to, static_cast<double>(column + 1));
      spread.columns[column] += counts[bin] * std::max(right - left, 0.0) / (to - from);
    }
  }
  return spread;
}

std::string terminal_plot(const document::Node& tree, const TextStyle& style, PlotHeight height) {
  if (tree.find("series") == nullptr) {
    return {};
  }
  const Plot plot(style, height);
  std::string text =
      latency_line(tree, "TTFT", "ttft", plot) + latency_line(tree, "TPOT", "tpot", plot);
  text += time_line("running",
                    numbers_at(tree, "series.gauges.running.mean"),
                    greatest_of(numbers_at(tree, "series.gauges.running.max")),
                    plot);
  const auto waiting = numbers_at(tree, "series.gauges.waiting.mean");
  text += time_line("waiting", waiting, greatest_of(waiting), plot);
  const double capacity = number_at(tree, "series.gauges.kv_capacity_tokens");
  text += time_line(capacity > 0.0 ? "KV %" : "KV tokens",
                    numbers_at(tree, "series.gauges.kv_tokens.mean"),
                    greatest_of(numbers_at(tree, "series.gauges.kv_tokens.max")) *
                        (capacity > 0.0 ? 100.0 / capacity : 1.0),
                    plot);
  const auto tokens = figures::per_second(tree, "series.rates.decode_tokens", 4);
  text += time_line("decode tok/s", tokens, greatest_of(tokens), plot);
  const std::string end = significant(number_at(tree, "series.end_s")) + " s";
  return text + fmt::format("{:<19} {:<{}}{}\n",
                            "",
                            "0 s",
                            std::max<std::size_t>(kPlotColumns, end.size()) - end.size(),
                            end);
}

}  // namespace ridgeline::report
