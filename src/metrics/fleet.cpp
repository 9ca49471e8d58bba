#include "metrics/fleet.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

/// Standard deviation over mean of one count of the instances; nothing where the mean is zero.
template <class Count>
std::optional<double> variation(const FleetSummary& fleet, const Count& count) {
  double sum = 0.0;
  double squares = 0.0;
  for (const InstanceSummary& instance : fleet.instances) {
    const auto value = static_cast<double>(count(instance));
    sum += value;
    squares += value * value;
  }
  const auto number = static_cast<double>(fleet.instances.size());
  const double mean = sum / number;
  if (mean <= 0.0) {
    return std::nullopt;
  }
  return std::sqrt(std::max(squares / number - mean * mean, 0.0)) / mean;
}

}  // namespace

Fleet::Fleet(std::int64_t instances, Percentiles percentiles, std::vector<std::size_t> pools)
    : exact_(percentiles == Percentiles::kExact), pool_of_(std::move(pools)) {
  for (std::int64_t i = 0; i < instances; ++i) {
    instances_.emplace_back(percentiles);
  }
  for (const std::size_t pool : pool_of_) {
    while (pools_.size() <= pool) {
      pools_.emplace_back(percentiles);
    }
  }
}

void Fleet::Instance::add(const domain::RequestRecord& record,
                          const RequestLatency& latency,
                          const RequestMetrics& metrics,
                          bool exact) {
  ++counts.requests;
  if (!completed(record.outcome)) {
    return;
  }
  ++counts.completed;
  counts.total_input_tokens += record.prompt_tokens.value();
  counts.total_output_tokens += record.output_tokens.value();
  counts.total_cached_tokens += record.cached_tokens.value();
  if (exact) {
    latencies.add(record, latency);
  } else {
    latencies.add(metrics);
  }
}

InstanceSummary Fleet::Instance::summarise() const {
  InstanceSummary summary = counts;
  const auto spread = latencies.distributions_ms();
  summary.ttft_ms = spread.client.ttft;
  summary.tpot_ms = spread.client.tpot;
  summary.e2e_ms = spread.client.e2e;
  summary.queue_time_ms = spread.queue_time;
  return summary;
}

void Fleet::add(const domain::RequestRecord& record,
                const RequestLatency& latency,
                const RequestMetrics& metrics) {
  if (!record.instance.valid() || record.instance.value() >= instances_.size()) {
    return;
  }
  const std::size_t place = record.instance.value();
  instances_[place].add(record, latency, metrics, exact_);
  if (place < pool_of_.size()) {
    pools_[pool_of_[place]].add(record, latency, metrics, exact_);
  }
}

std::optional<FleetSummary> Fleet::summarise() const {
  if (!any()) {
    return std::nullopt;
  }
  FleetSummary fleet;
  for (const Instance& instance : instances_) {
    fleet.instances.push_back(instance.summarise());
  }
  for (const Instance& pool : pools_) {
    fleet.pools.emplace_back().together = pool.summarise();
  }
  fill_variations(fleet);
  return fleet;
}

void fill_variations(FleetSummary& fleet) {
  fleet.request_variation =
      variation(fleet, [](const InstanceSummary& one) { return one.requests; });
  fleet.token_variation = variation(fleet, [](const InstanceSummary& one) {
    return one.total_input_tokens + one.total_output_tokens;
  });
}

}  // namespace ridgeline::metrics
