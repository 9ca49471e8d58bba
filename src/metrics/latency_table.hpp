#pragma once

#include <cstdint>
#include <optional>

#include "core/packed_integers.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// What exact percentiles over requests are made of, in some twenty bytes per request: the client's
/// times, and how far the server's are from them, which seldom changes from one request to the
/// next. The rest follows when it is asked for.
class LatencyTable {
 public:
  /// A completed request. The latencies are as measure() requires them (checked).
  void add(const domain::RequestRecord& record, const RequestLatency& latency);

  /// In milliseconds; nothing where no request has such a number.
  struct Clock {
    std::optional<Distribution> ttft;
    std::optional<Distribution> tpot;
    std::optional<Distribution> e2e;
  };
  [[nodiscard]] std::optional<Distribution> queue_time_ms() const;
  struct Clocks {
    Clock client;
    Clock server;
  };
  [[nodiscard]] Clocks clocks_ms() const;

 private:
  template <typename Value>
  [[nodiscard]] RequestSamples collect(Value next) const;
  [[nodiscard]] Clock server_ms() const;

  std::int64_t rows_ = 0;
  core::PackedIntegers queue_time_;
  core::PackedIntegers ttft_;    ///< Client's.
  core::PackedIntegers decode_;  ///< Client's e2e less its ttft.
  core::PackedIntegers gaps_;    ///< Output tokens less one.
  core::RunLengths ttft_lead_;   ///< Client's ttft less the server's.
  core::RunLengths e2e_lead_;    ///< The same of e2e.
};

}  // namespace ridgeline::metrics
