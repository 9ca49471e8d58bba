#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "domain/record.hpp"
#include "metrics/integer_table.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// The gaps between tokens, as arithmetic runs: memory follows the runs, not the tokens. A run that
/// continues the one before joins it.
class GapSamples {
 public:
  explicit GapSamples(Percentiles percentiles) : percentiles_(percentiles) {}

  /// Gaps of at least 0 and, for the rest, as statistics::Moments::add requires (checked).
  void add(const domain::TokenGaps& gaps) {
    if (percentiles_ == Percentiles::kNone) {
      return;
    }
    const statistics::ArithmeticRun run = {.first = gaps.gap.count(),
                                           .growth = gaps.growth.count(),
                                           .count = gaps.count,
                                           .repeat = gaps.requests};
    if (!join(run)) {
      close();
      open_ = run;
    }
  }
  /// In milliseconds; nothing without gaps. `curve`, where there is one, gets the quantiles of a
  /// series.
  [[nodiscard]] std::optional<Distribution> distribution_ms(std::vector<double>* curve = nullptr);
  /// Fingerprint of the multiset of gaps: however they were cut into runs, and however percentiles
  /// are kept; of no gaps where none are.
  [[nodiscard]] statistics::Fingerprint fingerprint();

  /// The runs that are kept, where percentiles are exact.
  [[nodiscard]] std::size_t num_runs() {
    close();
    return runs_.size();
  }

 private:
  enum Column : std::uint8_t { kFirst, kGrowth, kCount, kRepeat, kNumColumns };

  /// Whether the run continues the open one, which it is part of then.
  bool join(const statistics::ArithmeticRun& run) {
    if (run.repeat != open_.repeat || run.count < 1 || open_.count + run.count > kMostJoined) {
      return false;
    }
    // A single value has any growth.
    const std::int64_t step = run.first - (open_.first + open_.growth * (open_.count - 1));
    if ((open_.count > 1 && open_.growth != step) || (run.count > 1 && run.growth != step)) {
      return false;
    }
    open_.growth = step;
    open_.count += run.count;
    return true;
  }
  /// Takes the open run in; none is open after it.
  void close();

  /// More values than that are several runs.
  static constexpr std::int64_t kMostJoined = std::int64_t{1} << 20;
  static constexpr statistics::ArithmeticRun kNone = {
      .first = 0, .growth = 0, .count = 0, .repeat = 0};

  Percentiles percentiles_;
  statistics::ArithmeticRun open_ = kNone;  ///< The last run, which the next may continue.
  statistics::Moments moments_;        ///< Moments of all closed runs, where percentiles are exact.
  IntegerTable<kNumColumns> runs_;     ///< Those runs, ascending.
  statistics::QuantileSketch sketch_;  ///< Sketch of the gaps where percentiles are not exact.
};

}  // namespace ridgeline::metrics
