#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/statistics/quantile_sketch.hpp"
#include "core/time.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// How long requests waited in a gateway's queue before they were sent.
class GatewayWaits {
 public:
  explicit GatewayWaits(Percentiles percentiles) : exact_(percentiles == Percentiles::kExact) {}

  void add(core::Duration wait);
  [[nodiscard]] std::optional<Distribution> distribution() const;

 private:
  bool exact_;
  std::vector<std::int64_t> waits_;  ///< Picoseconds, where percentiles are exact.
  statistics::QuantileSketch sketch_;
};

}  // namespace ridgeline::metrics
