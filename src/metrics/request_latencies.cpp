#include "metrics/request_latencies.hpp"

#include <optional>

#include "core/statistics/quantile_sketch.hpp"
#include "core/time.hpp"
#include "metrics/fine_counts.hpp"
#include "metrics/latency_table.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"

namespace ridgeline::metrics {
namespace {

void add_if(statistics::QuantileSketch& sketch, const std::optional<core::Duration>& value) {
  if (value) {
    sketch.add(value->count());
  }
}

}  // namespace

void RequestLatencies::add(const RequestMetrics& metrics) {
  if (percentiles_ == Percentiles::kNone) {
    return;
  }
  add_if(queue_time_, metrics.queue_time);
  add_if(client_.ttft, metrics.ttft);
  add_if(client_.tpot, metrics.tpot);
  add_if(client_.e2e, metrics.e2e);
  add_if(server_.ttft, metrics.server_ttft);
  add_if(server_.tpot, metrics.server_tpot);
  add_if(server_.e2e, metrics.server_e2e);
}

LatencyTable::Clock RequestLatencies::described(const Clock& clock) {
  return {.ttft = distribution_ms(clock.ttft),
          .tpot = distribution_ms(clock.tpot),
          .e2e = distribution_ms(clock.e2e)};
}

LatencyTable::Distributions RequestLatencies::distributions_ms(QuantileCurves* curves) const {
  if (percentiles_ == Percentiles::kExact) {
    return table_.distributions_ms(curves);
  }
  if (curves != nullptr) {
    curves->latencies_ms = {quantiles_ms(client_.ttft),
                            quantiles_ms(client_.tpot),
                            quantiles_ms(client_.e2e),
                            quantiles_ms(queue_time_)};
  }
  return {.queue_time = distribution_ms(queue_time_),
          .client = described(client_),
          .server = described(server_)};
}

}  // namespace ridgeline::metrics
