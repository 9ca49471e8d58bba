#include "latency/measured/peaks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "core/check.hpp"

namespace ridgeline::latency::measured {
namespace {

constexpr double kTera = 1e12;
constexpr double kPeakSecondsPerMicrosecond = 1e-6;
constexpr int kMostDecimals = 12;
/// A double and its product with a power of ten are off by less than this share of themselves.
constexpr double kDoubleError = 8.0 * std::numeric_limits<double>::epsilon();

bool is_whole(double value) {
  return std::abs(value - std::floor(value + 0.5)) <= kDoubleError * value;
}

}  // namespace

double decimal_step(std::span<const double> values) {
  double scale = 1.0;
  for (int decimals = 0; decimals < kMostDecimals; ++decimals) {
    if (std::ranges::all_of(values, [&](double value) { return is_whole(value * scale); })) {
      return 1.0 / scale;
    }
    scale *= 10.0;
  }
  return 1.0 / scale;
}

PeakInterval peaks_of(const MfuRow& row) {
  const double least_us = std::max(row.latency_us - row.latency_step / 2.0, row.latency_us / 2.0);
  const double most_us = row.latency_us + row.latency_step / 2.0;
  const double least_mfu = row.mfu - row.mfu_step / 2.0;
  const double most_mfu = row.mfu + row.mfu_step / 2.0;
  const auto peak = [&](double us, double mfu) {
    return row.flops / (us * kPeakSecondsPerMicrosecond) / mfu / kTera;
  };
  return {.low = peak(most_us, most_mfu),
          .high = least_mfu > 0.0 ? peak(least_us, least_mfu)
                                  : std::numeric_limits<double>::infinity()};
}

PeakFit fit_peak(std::span<const MfuRow> rows) {
  RIDGELINE_CHECK(!rows.empty(), "a peak of no rows");
  struct End {
    double at;
    bool opens;
  };
  std::vector<PeakInterval> intervals;
  std::vector<End> ends;
  for (const MfuRow& row : rows) {
    intervals.push_back(peaks_of(row));
    ends.push_back({intervals.back().low, true});
    ends.push_back({intervals.back().high, false});
  }
  std::ranges::sort(ends, [](const End& a, const End& b) {
    return a.at != b.at ? a.at < b.at : a.opens && !b.opens;
  });
  std::size_t open = 0;
  std::size_t most = 0;
  PeakInterval best;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    open += ends[i].opens ? 1U : 0U;
    const double width = ends[i + 1].at - ends[i].at;
    const bool narrower = open == most && width < best.high - best.low;
    // The next end closes: nothing more opens inside.
    if (ends[i].opens && !ends[i + 1].opens && (open > most || narrower)) {
      most = open;
      best = {.low = ends[i].at, .high = ends[i + 1].at};
    }
    open -= ends[i].opens ? 0U : 1U;
  }
  PeakFit fit{.peak = best, .disagreeing = {}, .rows = rows.size()};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (intervals[i].low > best.low || intervals[i].high < best.high) {
      fit.disagreeing.push_back(i);
    }
  }
  return fit;
}

}  // namespace ridgeline::latency::measured
