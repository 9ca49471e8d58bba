#include "core/statistics/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/statistics/overflow.hpp"

namespace ridgeline::statistics {

QuantilePosition quantile_position(std::int64_t count, double p) {
  RIDGELINE_CHECK(count >= 1, "a quantile of nothing");
  RIDGELINE_CHECK(p >= 0.0 && p <= 1.0, "probability of a quantile");
  const double position = static_cast<double>(count - 1) * p;
  const double whole = std::floor(position);
  const auto index = static_cast<std::int64_t>(whole);
  if (index >= count - 1) {
    return {.index = count - 1, .fraction = 0.0};
  }
  return {.index = index, .fraction = position - whole};
}

double interpolate(std::int64_t low, std::int64_t high, double fraction) {
  return static_cast<double>(low) + static_cast<double>(distance(low, high)) * fraction;
}

std::vector<double> quantiles(std::span<std::int64_t> values,
                              std::span<const double> probabilities) {
  for (const double p : probabilities) {
    RIDGELINE_CHECK(p >= 0.0 && p <= 1.0, "probability of a quantile");
  }
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return probabilities[a] < probabilities[b];
  });

  std::vector<double> results(probabilities.size());
  auto unsorted = values.begin();  // Everything before is not above anything from here on.
  for (const std::size_t which : order) {
    const auto at =
        quantile_position(static_cast<std::int64_t>(values.size()), probabilities[which]);
    const auto place = values.begin() + at.index;
    std::nth_element(unsorted, place, values.end());
    unsorted = place;
    const std::int64_t next =
        at.fraction > 0.0 ? *std::min_element(place + 1, values.end()) : *place;
    results[which] = interpolate(*place, next, at.fraction);
  }
  return results;
}

double quantile(std::span<std::int64_t> values, double p) {
  return quantiles(values, std::span(&p, 1)).front();
}

double sorted_quantile(std::span<const double> sorted, double p) {
  const auto at = quantile_position(static_cast<std::int64_t>(sorted.size()), p);
  const auto below = static_cast<std::size_t>(at.index);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * at.fraction;
}

}  // namespace ridgeline::statistics
