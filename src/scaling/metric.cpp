#include "scaling/metric.hpp"

namespace ridgeline::scaling {

double value_of(Metric metric, const ReplicaReading& reading) {
  switch (metric) {
    case Metric::kRequests:
      return static_cast<double>(reading.waiting + reading.running);
    case Metric::kWaiting:
      return static_cast<double>(reading.waiting);
    case Metric::kRunning:
      return static_cast<double>(reading.running);
    case Metric::kKvUsage:
      return reading.kv_usage;
    case Metric::kQueuedTokens:
      return static_cast<double>(reading.queued_tokens.value());
    case Metric::kBusy:
      return reading.busy;
  }
  return 0.0;
}

}  // namespace ridgeline::scaling
