#include <algorithm>
#include <memory>

#include "cluster/scaling/policies/hpa.hpp"
#include "cluster/scaling/policies/policies.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {
namespace {

/// KEDA's pollingInterval.
constexpr core::Duration kPoll = core::Duration::seconds(30);

/// KEDA: the pod autoscaler from one replica on; the last replica goes after a time without a
/// request, and the first comes with the first poll that sees one.
class Keda final : public Scaler {
 public:
  explicit Keda(const ScalerSettings& settings) : cooldown_(settings.cooldown), hpa_(settings) {}

  [[nodiscard]] core::SimTime next_decision(core::SimTime now) const override {
    return std::min(hpa_.next_decision(now), next_multiple(now, kPoll));
  }

  [[nodiscard]] ScalePlan evaluate(const PoolHistory& history, core::SimTime now) override {
    const PoolReading* const newest = history.newest();
    if (newest != nullptr && newest->is_active()) {
      last_active_ = newest->at;
    }
    asks_hpa_ = false;
    const bool polls = now.count() % kPoll.count() == 0;
    if (history.replicas == 0) {
      return polls && newest != nullptr && newest->is_active()
                 ? ScalePlan{.replicas = 1, .reason = "requests wait"}
                 : ScalePlan{};
    }
    if (polls && history.min_replicas == 0 && history.replicas == 1 &&
        now - last_active_ >= cooldown_) {
      return {.replicas = 0, .reason = "no request"};
    }
    asks_hpa_ = true;
    ScalePlan plan = hpa_.evaluate(history, now);
    plan.replicas = std::max<std::int64_t>(plan.replicas, 1);
    return plan;
  }

  [[nodiscard]] core::SimTime same_until(const PoolHistory& history,
                                         core::SimTime now) const override {
    const bool is_active = history.newest()->is_active();
    if (history.replicas == 0) {
      return is_active ? now : core::SimTime::never();
    }
    const core::SimTime empty =
        history.min_replicas == 0 && history.replicas == 1
            ? std::max(now, core::SimTime::saturating_sum(last_active_, cooldown_))
            : core::SimTime::never();
    return std::min(empty, hpa_.same_until(history, now));
  }
  [[nodiscard]] core::SimTime last_decision(core::SimTime now) const override {
    return std::max(hpa_.last_decision(now), last_multiple(now, kPoll));
  }
  void rested(const PoolReading& newest, core::SimTime last) override {
    last_active_ = newest.is_active() ? newest.at : last_active_;
    if (asks_hpa_) {
      hpa_.rested(newest, last);
    }
  }

 private:
  core::Duration cooldown_;
  core::SimTime last_active_;
  bool asks_hpa_ = false;  ///< In the last decision.
  Hpa hpa_;
};

}  // namespace

std::unique_ptr<Scaler> make_keda(const ScalerSettings& settings) {
  return std::make_unique<Keda>(settings);
}

}  // namespace ridgeline::scaling
