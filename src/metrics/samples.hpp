#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/moments.hpp"
#include "core/piece_arena.hpp"
#include "core/quantile_sketch.hpp"
#include "core/run_columns.hpp"
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
  GapSamples(Percentiles percentiles, std::shared_ptr<core::PieceArena> arena)
      : percentiles_(percentiles), runs_(std::move(arena)) {}

  void add(const domain::TokenGaps& gaps) {
    pending_.add(gaps.gap.count(), gaps.growth.count(), gaps.count, gaps.requests);
    if (pending_.full()) [[unlikely]] {
      take_pending();
    }
  }
  [[nodiscard]] std::optional<Distribution> distribution_ms();
  /// Of the multiset of gaps: however they were cut into runs, and however percentiles are kept.
  [[nodiscard]] core::Fingerprint fingerprint();

 private:
  void take_pending();

  Percentiles percentiles_;
  core::RunColumns pending_;  ///< Not taken in yet: that is long code, and done for many together.
  core::RunMultiset runs_;
  core::QuantileSketch sketch_;
};

}  // namespace ridgeline::metrics
