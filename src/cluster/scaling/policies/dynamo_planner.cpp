#include <cstdint>
#include <memory>
#include <vector>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/rules.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {
namespace {

// Bounds for an engine that decodes, or does both, as shares of its KV cache.
constexpr PlannerBounds kThroughput = {
    .up = 1.0, .down = 0.6, .up_included = false, .down_included = false};
constexpr PlannerBounds kLatency = {
    .up = 0.4, .down = 0.1, .up_included = false, .down_included = false};

// Bounds for an engine that prefills, as shares of its longest context.
constexpr PlannerBounds kPrefillThroughput = {
    .up = 1.0, .down = 0.1, .up_included = true, .down_included = false};
constexpr PlannerBounds kPrefillLatency = {
    .up = 0.1, .down = 0.0, .up_included = true, .down_included = true};

PlannerBounds planner_bounds(const ScalerSettings& settings) {
  const bool is_prefill = settings.role == Role::kPrefill;
  return settings.optimization_target == OptimizationTarget::kThroughput
             ? (is_prefill ? kPrefillThroughput : kThroughput)
             : (is_prefill ? kPrefillLatency : kLatency);
}

/// The load-based decision of NVIDIA Dynamo's planner (2a6da14): one replica more or less by (KV
/// tokens held + prompt tokens queued) / KV tokens, of engines that prefill alone by prompt tokens
/// queued / longest context; nothing while a replica is on its way.
class DynamoPlanner final : public Scaler {
 public:
  explicit DynamoPlanner(const ScalerSettings& settings)
      : interval_(settings.scaling_interval),
        is_prefill_(settings.role == Role::kPrefill),
        bounds_(planner_bounds(settings)) {}

  [[nodiscard]] core::SimTime next_decision(core::SimTime now) const override {
    return next_multiple(now, interval_);
  }

  [[nodiscard]] ScalePlan evaluate(const PoolHistory& history, core::SimTime) override {
    const PoolReading* const newest = history.newest();
    if (newest == nullptr || history.ready != history.replicas) {
      return {.replicas = history.replicas};
    }
    std::vector<double> loads;
    loads.reserve(newest->replicas.size());
    for (const ReplicaReading& replica : newest->replicas) {
      const auto queued = static_cast<double>(replica.queued_tokens.value());
      loads.push_back(is_prefill_ ? queued / static_cast<double>(replica.context.value())
                                  : replica.kv_usage +
                                        queued / static_cast<double>(replica.kv_capacity.value()));
    }
    const std::int64_t replicas =
        planned_replicas(loads, history.replicas, history.min_replicas, bounds_)
            .value_or(history.replicas);
    return {.replicas = replicas,
            .reason = replicas > history.replicas   ? "an engine is loaded"
                      : replicas < history.replicas ? "no engine is loaded"
                                                    : "no change"};
  }
  [[nodiscard]] core::SimTime same_until(const PoolHistory& /*history*/,
                                         core::SimTime /*now*/) const override {
    return core::SimTime::never();
  }
  [[nodiscard]] core::SimTime last_decision(core::SimTime now) const override {
    return last_multiple(now, interval_);
  }

 private:
  core::Duration interval_;
  bool is_prefill_;
  PlannerBounds bounds_;
};

}  // namespace

std::unique_ptr<Scaler> make_dynamo_planner(const ScalerSettings& settings) {
  return std::make_unique<DynamoPlanner>(settings);
}

}  // namespace ridgeline::scaling
