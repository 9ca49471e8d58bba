#include <cstdint>
#include <memory>
#include <vector>

#include "core/time.hpp"
#include "scaling/metric.hpp"
#include "scaling/policies/policies.hpp"
#include "scaling/registry.hpp"
#include "scaling/rules.hpp"
#include "scaling/scaler.hpp"

namespace ridgeline::scaling {
namespace {

// Of an aggregated engine, as shares of its KV cache.
constexpr PlannerBounds kThroughput = {
    .up = 1.0, .down = 0.6, .up_included = false, .down_included = false};
constexpr PlannerBounds kLatency = {
    .up = 0.4, .down = 0.1, .up_included = false, .down_included = false};

/// The load-based decision of NVIDIA Dynamo's planner (2a6da14) over engines that prefill and
/// decode: one replica more or less by (KV tokens held + prompt tokens queued) / KV tokens; nothing
/// while a replica is on its way.
class DynamoPlanner final : public Scaler {
 public:
  explicit DynamoPlanner(const ScalerSettings& settings)
      : interval_(settings.scaling_interval),
        bounds_(settings.optimization_target == OptimizationTarget::kThroughput ? kThroughput
                                                                                : kLatency) {}

  [[nodiscard]] core::SimTime next_decision(core::SimTime now) const override {
    return next_multiple(now, interval_);
  }

  [[nodiscard]] ScalePlan evaluate(const PoolHistory& history, core::SimTime) override {
    const PoolReading* const newest = history.newest();
    if (newest == nullptr || history.ready != history.replicas) {
      return {.replicas = history.replicas};
    }
    std::vector<double> loads;
    for (const ReplicaReading& replica : newest->replicas) {
      loads.push_back(replica.kv_usage + static_cast<double>(replica.queued_tokens.value()) /
                                             static_cast<double>(replica.kv_capacity.value()));
    }
    const std::int64_t replicas =
        planned_replicas(loads, history.replicas, history.min_replicas, bounds_)
            .value_or(history.replicas);
    return {.replicas = replicas,
            .reason = replicas > history.replicas   ? "an engine is loaded"
                      : replicas < history.replicas ? "no engine is loaded"
                                                    : "no change"};
  }

 private:
  core::Duration interval_;
  PlannerBounds bounds_;
};

}  // namespace

std::unique_ptr<Scaler> make_dynamo_planner(const ScalerSettings& settings) {
  return std::make_unique<DynamoPlanner>(settings);
}

}  // namespace ridgeline::scaling
