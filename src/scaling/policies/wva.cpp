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

/// Without a request for so long, a pool that may be empty is emptied.
constexpr core::Duration kRetention = core::Duration::seconds(600);
// V2: demand over these shares of the supply.
constexpr double kScaleUpShare = 0.85;
constexpr double kScaleDownShare = 0.70;

/// llm-d's workload-variant autoscaler (b08b1c7) over one variant.
class Wva final : public Scaler {
 public:
  explicit Wva(const ScalerSettings& settings)
      : interval_(settings.scaling_interval), analyzer_(settings.analyzer) {}

  [[nodiscard]] core::SimTime next_decision(core::SimTime now) const override {
    return next_multiple(now, interval_);
  }

  [[nodiscard]] ScalePlan evaluate(const PoolHistory& history, core::SimTime now) override {
    const PoolReading* const newest = history.newest();
    if (newest == nullptr) {
      return {.replicas = history.replicas};
    }
    if (newest->is_active()) {
      last_active_ = newest->at;
    }
    if (history.replicas == 0) {
      return newest->is_active() ? ScalePlan{.replicas = 1, .reason = "requests wait"}
                                 : ScalePlan{};
    }
    if (history.min_replicas == 0 && now - last_active_ >= kRetention) {
      return {.replicas = 0, .reason = "no request"};
    }
    const std::int64_t replicas =
        analyzer_ == Analyzer::kV1 ? by_spare(history, *newest) : by_tokens(history, *newest);
    return {.replicas = replicas,
            .reason = replicas > history.replicas   ? "little capacity to spare"
                      : replicas < history.replicas ? "capacity to spare"
                                                    : "no change"};
  }

 private:
  [[nodiscard]] std::int64_t by_spare(const PoolHistory& history, const PoolReading& newest) {
    std::vector<ReplicaGauges> gauges;
    for (const ReplicaReading& replica : newest.replicas) {
      gauges.push_back(
          {.kv_usage = replica.kv_usage, .waiting = static_cast<double>(replica.waiting)});
    }
    const SpareDecision decision = spare_capacity(gauges,
                                                  {{.current = history.replicas,
                                                    .desired = desired_,
                                                    .pending = history.replicas - history.ready}});
    desired_ = decision.targets.front();
    return desired_;
  }

  [[nodiscard]] static std::int64_t by_tokens(const PoolHistory& history,
                                              const PoolReading& newest) {
    std::vector<ReplicaTokens> replicas;
    core::Tokens queued;
    std::int64_t waiting = 0;
    double capacity = 0.0;
    for (const ReplicaReading& replica : newest.replicas) {
      capacity = static_cast<double>(replica.kv_capacity.value());
      queued += replica.queued_tokens;
      waiting += replica.waiting;
      replicas.push_back({.kv_capacity = capacity,
                          .kv_in_use = replica.kv_usage * capacity,
                          .waiting = static_cast<double>(replica.waiting)});
    }
    TokenThresholds thresholds{.up = kScaleUpShare, .down = kScaleDownShare};
    if (waiting > 0) {
      thresholds.mean_input = static_cast<double>(queued.value()) / static_cast<double>(waiting);
    }
    const auto pending = static_cast<double>(history.replicas - history.ready);
    return history.replicas + token_capacity(replicas, pending * capacity, thresholds).delta;
  }

  core::Duration interval_;
  Analyzer analyzer_;
  std::int64_t desired_ = 0;  ///< Of the last decision; 0: none.
  core::SimTime last_active_;
};

}  // namespace

std::unique_ptr<Scaler> make_wva(const ScalerSettings& settings) {
  return std::make_unique<Wva>(settings);
}

}  // namespace ridgeline::scaling
