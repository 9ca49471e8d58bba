#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::scaling {

inline core::SimTime second(std::int64_t count) {
  return core::SimTime::at(core::Duration::seconds(count));
}

/// Settings of a policy with its own interval.
inline ScalerSettings settings_of(const std::string& name) {
  ScalerSettings settings;
  settings.scaling_interval = (*find_scaler(name))->interval;
  return settings;
}

/// A pool whose ready replicas all showed the same, just now.
struct UniformPool {
  std::int64_t replicas = 1;
  std::int64_t ready = 1;
  std::int64_t min_replicas = 1;
  std::int64_t max_replicas = 1000;
  ReplicaReading each = {.kv_capacity = core::Tokens(1000)};
  std::int64_t held = 0;
  std::int64_t arrivals = 0;
  std::optional<double> latency = {};

  ScalePlan decide(Scaler& scaler, core::SimTime now) const {
    std::vector<PoolReading> readings = {
        {.at = now, .held = held, .arrivals = arrivals, .latency = latency}};
    for (std::int64_t i = 0; i < ready; ++i) {
      readings.front().replicas.push_back(each);
      readings.front().replicas.back().id = core::InstanceId(static_cast<core::InstanceId::Rep>(i));
    }
    const Variant variant{.replicas = replicas,
                          .ready = ready,
                          .min_replicas = min_replicas,
                          .max_replicas = max_replicas,
                          .kv_capacity = each.kv_capacity};
    return scaler.evaluate({.readings = readings,
                            .variants = {&variant, 1},
                            .replicas = replicas,
                            .ready = ready,
                            .min_replicas = min_replicas,
                            .max_replicas = max_replicas},
                           now);
  }
};

}  // namespace ridgeline::scaling
