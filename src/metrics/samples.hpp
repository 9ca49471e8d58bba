#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/moments.hpp"
#include "core/quantile_sketch.hpp"
#include "core/run_multiset.hpp"
#include "domain/record.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// How percentiles are kept. Means, standard deviations and maxima are exact either way.
enum class Percentiles : std::uint8_t {
  kExact,   ///< Every value: some twenty bytes per request, and the runs of token gaps.
  kSketch,  ///< In bounded memory, within core::QuantileSketch::kRelativeError.
};

/// Those of the quantiles that a Distribution holds.
[[nodiscard]] std::span<const double> quantile_probabilities();
/// `quantiles` in picoseconds, one for each of quantile_probabilities(); in milliseconds after.
[[nodiscard]] Distribution describe(const core::Moments& moments,
                                    std::span<const double> quantiles);
/// Of picoseconds, in milliseconds; nothing without values.
[[nodiscard]] std::optional<Distribution> distribution_ms(const core::QuantileSketch& sketch);

/// The gaps between tokens. Memory follows the runs, not the tokens.
class GapSamples {
 public:
  explicit GapSamples(Percentiles percentiles) : percentiles_(percentiles) {}

  void add(const domain::TokenGaps& gaps);
  [[nodiscard]] std::optional<Distribution> distribution_ms() const;
  /// Of the multiset of gaps: however they were cut into runs, and however percentiles are kept.
  [[nodiscard]] core::Fingerprint fingerprint() const;

 private:
  Percentiles percentiles_;
  core::RunMultiset runs_;
  core::QuantileSketch sketch_;
};

}  // namespace ridgeline::metrics
