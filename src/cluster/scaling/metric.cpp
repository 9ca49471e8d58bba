#include "cluster/scaling/metric.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cluster/scaling/scaler.hpp"

namespace ridgeline::scaling {

double nearest_rank(std::vector<double> values, double quantile) {
  const auto count = static_cast<double>(values.size());
  const auto rank = static_cast<std::size_t>(std::max(std::ceil(quantile * count), 1.0));
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size()) - 1);
  std::ranges::nth_element(values, place);
  return *place;
}

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
    case Metric::kInFlightTokens:
      return static_cast<double>(reading.queued_tokens.value()) +
             reading.kv_usage * static_cast<double>(reading.kv_capacity.value());
    case Metric::kTtft:
    case Metric::kTpot:
      break;  // A latency is of all replicas together.
  }
  return 0.0;
}

}  // namespace ridgeline::scaling
