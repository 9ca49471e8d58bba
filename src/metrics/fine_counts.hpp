#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_buckets.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "metrics/order_search.hpp"
#include "metrics/series.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// The probabilities of a series' quantiles, ascending: 0 to 0.9 evenly, then 36 to every further
/// nine, to 0.9999, and 1; p50, p90, p95 and p99 are among them.
[[nodiscard]] std::vector<double> series_probabilities();

/// How many of some times lie in each of fine bins: what quantiles between the exact ones come
/// from. The same in whatever order, and in whatever runs, the times come.
class FineCounts {
 public:
  /// Within 0.4 % of the times: less than a pixel of a picture that spans a decade in 500.
  static constexpr int kBits = 7;
  using Bins = statistics::LogBuckets<kBits>;

  /// Times in ticks, none negative.
  void add(std::span<const std::int64_t> ticks);
  /// Adds `repeat` times each of first, first + growth, ...; growths are not negative.
  void add(const RunBlock& runs);

  [[nodiscard]] bool empty() const { return counts_.empty(); }
  /// Quantiles in milliseconds at series_probabilities(): p50, p90, p95, p99 and the greatest are
  /// those of `exact`. Requires that it is not empty.
  [[nodiscard]] std::vector<double> quantiles_ms(const Distribution& exact) const;

 private:
  void add_run(const statistics::ArithmeticRun& run);
  /// Makes room for all bins at once: none is looked for when a time comes.
  void make_room() { counts_.resize(Bins::of(std::numeric_limits<std::int64_t>::max()) + 1); }

  std::vector<std::int64_t> counts_;  ///< By bin; empty before the first time.
};

/// The quantiles of a series by latency, and of the gaps between tokens; empty where nothing has
/// such a time.
struct QuantileCurves {
  std::array<std::vector<double>, kNumLatencies> latencies_ms;
  std::vector<double> itl_ms;
};

/// The quantiles in milliseconds at series_probabilities() of a sketch; empty without values.
[[nodiscard]] std::vector<double> quantiles_ms(const statistics::QuantileSketch& sketch);

}  // namespace ridgeline::metrics
