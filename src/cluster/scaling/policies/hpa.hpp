#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {

/// The Kubernetes horizontal pod autoscaler (autoscaling/v2, defaults of 1.30): replicas * metric /
/// target rounded up; nothing while that is within a tenth of what there is; down to the highest
/// number that it wanted in the last 300 s, up at once, by at most 4 replicas or 100 % in 15 s.
class Hpa final : public Scaler {
 public:
  explicit Hpa(const ScalerSettings& settings) : settings_(settings) {}

  [[nodiscard]] core::SimTime next_decision(core::SimTime now) const override {
    return next_multiple(now, settings_.scaling_interval);
  }
  [[nodiscard]] ScalePlan evaluate(const PoolHistory& history, core::SimTime now) override;
  [[nodiscard]] core::SimTime same_until(const PoolHistory& history,
                                         core::SimTime now) const override;
  [[nodiscard]] core::SimTime last_decision(core::SimTime now) const override {
    return last_multiple(now, settings_.scaling_interval);
  }
  void rested(const PoolReading& /*newest*/, core::SimTime last) override {
    wanted_.back().at = last;
  }

 private:
  struct Change {
    core::SimTime at;
    std::int64_t replicas = 0;
  };

  [[nodiscard]] std::int64_t wanted(const PoolHistory& history) const;
  [[nodiscard]] std::int64_t wanted_for(std::optional<double> value,
                                        const PoolHistory& history) const;
  [[nodiscard]] std::int64_t highest_wanted(std::int64_t wanted, core::SimTime now);
  [[nodiscard]] std::int64_t most_allowed(std::int64_t replicas, core::SimTime now);

  ScalerSettings settings_;
  std::deque<Change> wanted_;  ///< Recent recommendations.
  std::deque<Change> added_;   ///< Recent changes upwards, by how many.
};

}  // namespace ridgeline::scaling
