#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "domain/record.hpp"
#include "metrics/request_latencies.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// Gathers the requests of each instance of a cluster apart.
class Fleet {
 public:
  /// Without instances it gathers nothing.
  Fleet(std::int64_t instances, Percentiles percentiles);

  [[nodiscard]] bool any() const { return !instances_.empty(); }
  /// A request that has ended. One that no instance got is not counted.
  void add(const domain::RequestRecord& record,
           const RequestLatency& latency,
           const RequestMetrics& metrics);
  /// What the requests say; nothing without instances. The engines' part is the caller's.
  [[nodiscard]] std::optional<FleetSummary> summarise() const;

 private:
  struct Instance {
    explicit Instance(Percentiles percentiles) : latencies(percentiles) {}
    InstanceSummary counts;
    RequestLatencies latencies;
  };

  bool exact_;
  std::vector<Instance> instances_;
};

}  // namespace ridgeline::metrics
