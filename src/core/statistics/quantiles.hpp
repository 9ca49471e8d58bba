#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Quantiles of values, of integers (ticks of simulated time) exact. The p-quantile of n sorted
/// values stands at the 0-based position (n - 1) p, between two values by linear interpolation:
/// numpy's default, and R's type 7 (R. J. Hyndman, Y. Fan, "Sample quantiles in statistical
/// packages", The American Statistician 50(4), 1996).
namespace ridgeline::statistics {

/// A position between two order statistics: `fraction` (0 to below 1) of the way from number
/// `index` to the next.
struct QuantilePosition {
  std::int64_t index = 0;
  double fraction = 0.0;
};

/// Requires count >= 1 and 0 <= p <= 1. The fraction is 0 at the last value.
QuantilePosition quantile_position(std::int64_t count, double p);

/// low + (high - low) * fraction, without overflow; low <= high.
double interpolate(std::int64_t low, std::int64_t high, double fraction);

/// The quantiles of `values`, which are reordered; in the order of `probabilities`. By selection:
/// linear in the number of values for a few probabilities. Requires at least one value.
std::vector<double> quantiles(std::span<std::int64_t> values,
                              std::span<const double> probabilities);
double quantile(std::span<std::int64_t> values, double p);

/// The quantile of sorted numbers. Requires at least one.
double sorted_quantile(std::span<const double> sorted, double p);

}  // namespace ridgeline::statistics
