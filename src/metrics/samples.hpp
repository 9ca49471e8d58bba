#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/moments.hpp"
#include "core/quantile_sketch.hpp"
#include "core/run_multiset.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// How percentiles are kept. Means, standard deviations and maxima are exact either way.
enum class Percentiles : std::uint8_t {
  kExact,   ///< Every value: some twenty bytes per request, and the runs of token gaps.
  kSketch,  ///< In bounded memory, within core::QuantileSketch::kRelativeError.
};

/// One time per request.
class RequestSamples {
 public:
  explicit RequestSamples(Percentiles percentiles) : percentiles_(percentiles) {}

  /// As many values will come.
  void reserve(std::size_t values) { values_.reserve(values); }
  /// Requires a duration that is not negative.
  void add(core::Duration value) {
    if (percentiles_ == Percentiles::kSketch) {
      sketch_.add(value.count());
    } else {
      values_.push_back(value.count());
      moments_.add(value.count());
    }
  }
  /// In milliseconds; nothing without values. Reorders what is kept.
  [[nodiscard]] std::optional<Distribution> distribution_ms();
  /// Of the values, and of the values less `offset` each: found together. Exact only (checked).
  [[nodiscard]] std::pair<std::optional<Distribution>, std::optional<Distribution>>
  distributions_ms(core::Duration offset);

 private:
  Percentiles percentiles_;
  std::vector<std::int64_t> values_;  ///< Picoseconds, in no order.
  core::Moments moments_;
  core::QuantileSketch sketch_;
};

/// The gaps between tokens. Memory follows the runs, not the tokens.
class GapSamples {
 public:
  explicit GapSamples(Percentiles percentiles) : percentiles_(percentiles) {}

  void add(const domain::TokenGaps& gaps);
  [[nodiscard]] std::optional<Distribution> distribution_ms() const;
  /// Of the multiset of gaps: however they were cut into runs, and however percentiles are kept.
  [[nodiscard]] core::Fingerprint fingerprint() const { return moments().fingerprint(); }

 private:
  [[nodiscard]] const core::Moments& moments() const;

  Percentiles percentiles_;
  core::RunMultiset runs_;
  core::QuantileSketch sketch_;
};

}  // namespace ridgeline::metrics
