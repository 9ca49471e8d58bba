#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/check.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/fine_counts.hpp"
#include "metrics/integer_table.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// What exact percentiles over requests are made of: of each request the client's times, and the
/// server's by their differences to them, which are the same for most requests and so take no
/// memory. The times of each distribution are worked out from these columns.
class LatencyTable {
 public:
  /// A completed request. The latencies are as measure() requires them (checked).
  void add(const domain::RequestRecord& record, const RequestLatency& latency) {
    check_latency(latency);
    RIDGELINE_CHECK(record.first_scheduled >= record.queued, "a request scheduled before its time");
    const core::Duration client_rest = latency.client_e2e - latency.client_ttft;
    const core::Duration server_rest = latency.server_e2e - latency.server_ttft;
    has_rest_leads_ = has_rest_leads_ || client_rest != server_rest;
    table_.push_back({(record.first_scheduled - record.queued).count(),
                      latency.client_ttft.count(),
                      client_rest.count(),
                      record.output_tokens.value() - 1,
                      (latency.client_ttft - latency.server_ttft).count(),
                      (client_rest - server_rest).count()});
  }

  /// In milliseconds; nothing where no request has such a number.
  struct Clock {
    std::optional<Distribution> ttft;
    std::optional<Distribution> tpot;
    std::optional<Distribution> e2e;
  };
  struct Distributions {
    std::optional<Distribution> queue_time;
    Clock client;
    Clock server;
  };
  /// `curves`, where there are some, get the quantiles of a series.
  [[nodiscard]] Distributions distributions_ms(QuantileCurves* curves = nullptr) const;

 private:
  /// Times in ticks.
  enum Column : std::uint8_t {
    kQueueTime,
    kTtft,      ///< The client's.
    kRest,      ///< The client's e2e less its ttft.
    kGaps,      ///< Output tokens less one.
    kTtftLead,  ///< The client's ttft less the server's.
    kRestLead,  ///< The client's rest less the server's.
    kNumColumns,
  };
  /// Shows the times of all requests, one list for each distribution.
  void show(const std::function<void(ListBlocks)>& visit) const;

  IntegerTable<kNumColumns> table_;
  bool has_rest_leads_ = false;  ///< Without any, the time per token is the same on both clocks.
};

}  // namespace ridgeline::metrics
