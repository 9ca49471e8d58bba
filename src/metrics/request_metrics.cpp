#include "metrics/request_metrics.hpp"

#include <cstdint>

#include "core/time.hpp"
#include "domain/record.hpp"

namespace ridgeline::metrics {

RequestMetrics measure(const domain::RequestRecord& record, const RequestLatency& latency) {
  RequestMetrics metrics;
  if (record.first_scheduled != core::SimTime::never()) {
    metrics.queue_time = record.first_scheduled - record.queued;
  }
  if (!completed(record.outcome)) {
    return metrics;
  }
  check_latency(latency);
  metrics.ttft = latency.client_ttft;
  metrics.server_ttft = latency.server_ttft;
  metrics.e2e = latency.client_e2e;
  metrics.server_e2e = latency.server_e2e;
  const std::int64_t gaps = record.output_tokens.value() - 1;
  if (gaps > 0) {
    metrics.tpot = tpot_of(record, latency);
    metrics.server_tpot = mean_of_gaps(latency.server_e2e - latency.server_ttft, gaps);
    metrics.mean_gap = mean_of_gaps(record.last_token - record.first_token, gaps);
  }
  return metrics;
}

}  // namespace ridgeline::metrics
