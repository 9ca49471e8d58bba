#pragma once

#include "core/statistics/quantile_sketch.hpp"
#include "domain/record.hpp"
#include "metrics/fine_counts.hpp"
#include "metrics/latency_table.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"

namespace ridgeline::metrics {

/// The latencies of completed requests, as exact as is asked for.
class RequestLatencies {
 public:
  explicit RequestLatencies(Percentiles percentiles) : percentiles_(percentiles) {}

  /// A completed request, where percentiles are exact. The latencies are as measure() requires
  /// them.
  void add(const domain::RequestRecord& record, const RequestLatency& latency) {
    table_.add(record, latency);
  }
  /// Adds a request where percentiles are not exact.
  void add(const RequestMetrics& metrics);

  /// As LatencyTable::distributions_ms().
  [[nodiscard]] LatencyTable::Distributions distributions_ms(
      QuantileCurves* curves = nullptr) const;

 private:
  /// One clock's times, where percentiles are sketched.
  struct Clock {
    statistics::QuantileSketch ttft;
    statistics::QuantileSketch tpot;
    statistics::QuantileSketch e2e;
  };
  static LatencyTable::Clock described(const Clock& clock);

  Percentiles percentiles_;
  LatencyTable table_;  ///< Where they are exact.
  Clock client_;
  Clock server_;
  statistics::QuantileSketch queue_time_;
};

}  // namespace ridgeline::metrics
