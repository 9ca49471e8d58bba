#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/rules.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {
namespace {

/// Without a request for so long, a pool that may be empty is emptied.
constexpr core::Duration kRetention = core::Duration::seconds(600);
// V2: demand over these shares of the supply.
constexpr double kScaleUpShare = 0.85;
constexpr double kScaleDownShare = 0.70;
/// More than any pool may have.
constexpr double kMostReplicas = 1e6;

/// llm-d's workload-variant autoscaler (b08b1c7) over the variants that serve the same.
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
      return {.replicas = history.replicas, .by_variant = current(history)};
    }
    if (newest->is_active()) {
      last_active_ = newest->at;
    }
    if (history.replicas == 0) {
      return newest->is_active() ? first_of_cheapest(history)
                                 : ScalePlan{.by_variant = current(history)};
    }
    if (history.min_replicas == 0 && now - last_active_ >= kRetention) {
      return {.reason = "no request",
              .by_variant = std::vector<std::int64_t>(history.variants.size())};
    }
    ScalePlan plan;
    plan.by_variant =
        analyzer_ == Analyzer::kV1 ? by_spare(history, *newest) : by_tokens(history, *newest);
    plan.replicas =
        std::accumulate(plan.by_variant.begin(), plan.by_variant.end(), std::int64_t{0});
    plan.reason = plan.replicas > history.replicas   ? "little capacity to spare"
                  : plan.replicas < history.replicas ? "capacity to spare"
                                                     : "no change";
    return plan;
  }

  [[nodiscard]] core::SimTime same_until(const PoolHistory& history,
                                         core::SimTime now) const override {
    return history.min_replicas == 0 && history.replicas > 0
               ? std::max(now, core::SimTime::saturating_sum(last_active_, kRetention))
               : core::SimTime::never();
  }
  [[nodiscard]] core::SimTime last_decision(core::SimTime now) const override {
    return last_multiple(now, interval_);
  }
  void rested(const PoolReading& newest, core::SimTime /*last*/) override {
    last_active_ = newest.is_active() ? newest.at : last_active_;
  }

 private:
  [[nodiscard]] static std::vector<std::int64_t> current(const PoolHistory& history) {
    std::vector<std::int64_t> replicas;
    for (const Variant& variant : history.variants) {
      replicas.push_back(variant.replicas);
    }
    return replicas;
  }

  /// The variants, cheapest first.
  [[nodiscard]] static std::vector<std::size_t> by_cost(const PoolHistory& history) {
    std::vector<std::size_t> order(history.variants.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return history.variants[i].cost; });
    return order;
  }

  [[nodiscard]] static ScalePlan first_of_cheapest(const PoolHistory& history) {
    ScalePlan plan{.replicas = 1, .reason = "requests wait", .by_variant = current(history)};
    plan.by_variant[by_cost(history).front()] = 1;
    return plan;
  }

  [[nodiscard]] std::vector<std::int64_t> by_spare(const PoolHistory& history,
                                                   const PoolReading& newest) {
    std::vector<ReplicaGauges> gauges;
    for (const ReplicaReading& replica : newest.replicas) {
      gauges.push_back({.variant = replica.variant,
                        .kv_usage = replica.kv_usage,
                        .waiting = static_cast<double>(replica.waiting)});
    }
    desired_.resize(history.variants.size());
    std::vector<VariantCounts> counts;
    for (std::size_t i = 0; i < history.variants.size(); ++i) {
      const Variant& variant = history.variants[i];
      counts.push_back({.current = variant.replicas,
                        .desired = desired_[i],
                        .pending = variant.replicas - variant.ready,
                        .cost = variant.cost,
                        .fewest = variant.min_replicas,
                        .most = variant.max_replicas});
    }
    desired_ = spare_capacity(gauges, counts).targets;
    return desired_;
  }

  [[nodiscard]] static std::vector<std::int64_t> by_tokens(const PoolHistory& history,
                                                           const PoolReading& newest) {
    std::vector<ReplicaTokens> replicas;
    core::Tokens queued;
    std::int64_t waiting = 0;
    for (const ReplicaReading& replica : newest.replicas) {
      const auto capacity = static_cast<double>(replica.kv_capacity.value());
      queued += replica.queued_tokens;
      waiting += replica.waiting;
      replicas.push_back({.variant = replica.variant,
                          .kv_capacity = capacity,
                          .kv_in_use = replica.kv_usage * capacity,
                          .waiting = static_cast<double>(replica.waiting)});
    }
    TokenThresholds thresholds{.up = kScaleUpShare, .down = kScaleDownShare};
    if (waiting > 0) {
      thresholds.mean_input = static_cast<double>(queued.value()) / static_cast<double>(waiting);
    }
    double pending = 0.0;
    for (const Variant& variant : history.variants) {
      pending += static_cast<double>(variant.replicas - variant.ready) *
                 static_cast<double>(variant.kv_capacity.value());
    }
    return spread(history, token_capacity(replicas, pending, thresholds), thresholds.kv);
  }

  /// What is required comes from the cheapest variant that has room, then from the next; what is
  /// to spare goes from the dearest.
  [[nodiscard]] static std::vector<std::int64_t> spread(const PoolHistory& history,
                                                        const TokenDecision& decision,
                                                        double kv_share) {
    std::vector<std::int64_t> targets = current(history);
    std::vector<std::size_t> order = by_cost(history);
    const bool up = decision.required > 0.0;
    if (!up) {
      std::ranges::reverse(order);
    }
    double left = up ? decision.required : decision.spare;
    for (const std::size_t i : order) {
      const Variant& variant = history.variants[i];
      const double supply = static_cast<double>(variant.kv_capacity.value()) * kv_share;
      if (left <= 0.0 || supply <= 0.0) {
        continue;
      }
      const double wanted = up ? std::ceil(left / supply) : std::floor(left / supply);
      const std::int64_t room =
          up ? variant.max_replicas - variant.replicas : variant.replicas - variant.min_replicas;
      const std::int64_t change =
          std::min(static_cast<std::int64_t>(std::min(wanted, kMostReplicas)), room);
      targets[i] += up ? change : -change;
      left -= static_cast<double>(change) * supply;
    }
    return targets;
  }

  core::Duration interval_;
  Analyzer analyzer_;
  std::vector<std::int64_t> desired_;  ///< By variant, of the last decision; 0: none.
  core::SimTime last_active_;
};

}  // namespace

std::unique_ptr<Scaler> make_wva(const ScalerSettings& settings) {
  return std::make_unique<Wva>(settings);
}

}  // namespace ridgeline::scaling
