#pragma once

#include <array>
#include <cstddef>
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

  void add(const domain::TokenGaps& gaps) {
    if (num_pending_ == kTogether) [[unlikely]] {
      take_pending();
    }
    pending_gap_[num_pending_] = gaps.gap.count();
    pending_growth_[num_pending_] = gaps.growth.count();
    pending_count_[num_pending_] = gaps.count;
    pending_requests_[num_pending_] = gaps.requests;
    ++num_pending_;
  }
  [[nodiscard]] std::optional<Distribution> distribution_ms();
  /// Of the multiset of gaps: however they were cut into runs, and however percentiles are kept.
  [[nodiscard]] core::Fingerprint fingerprint();

 private:
  void take_pending();

  Percentiles percentiles_;
  /// Gaps not taken in yet: that is long code, and done for many together. Side by side: a copy in
  /// one piece of what was just written in several makes a processor wait.
  static constexpr std::size_t kTogether = 64;
  using Column = std::array<std::int64_t, kTogether>;
  Column pending_gap_{};
  Column pending_growth_{};
  Column pending_count_{};
  Column pending_requests_{};
  std::size_t num_pending_ = 0;
  core::RunMultiset runs_;
  core::QuantileSketch sketch_;
};

}  // namespace ridgeline::metrics
