#pragma once

#include <cstddef>
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
  /// Without instances it gathers nothing. `pools`: that of each instance, counted from 0; empty:
  /// there are none.
  Fleet(std::int64_t instances, Percentiles percentiles, std::vector<std::size_t> pools = {});

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
    void add(const domain::RequestRecord& record,
             const RequestLatency& latency,
             const RequestMetrics& metrics,
             bool exact);
    [[nodiscard]] InstanceSummary summarise() const;

    InstanceSummary counts;
    RequestLatencies latencies;
  };

  bool exact_;
  std::vector<Instance> instances_;
  std::vector<std::size_t> pool_of_;  ///< By instance.
  std::vector<Instance> pools_;       ///< All instances of each together.
};

/// How much the instances' requests and tokens vary.
void fill_variations(FleetSummary& fleet);

}  // namespace ridgeline::metrics
