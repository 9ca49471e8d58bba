#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/scaler.hpp"
#include "core/result.hpp"
#include "core/time.hpp"

namespace ridgeline::scaling {

/// What the replicas of a pool do.
enum class Role : std::uint8_t { kBoth, kPrefill, kDecode };

/// What a scenario says to its autoscaler. A policy reads the settings that its entry lists.
struct ScalerSettings {
  core::Duration scaling_interval = {};  ///< Between decisions.
  Metric metric = Metric::kRequests;
  double target = 1.0;           ///< Target of the metric, per replica unless it is a latency; > 0.
  double metric_quantile = 0.9;  ///< Quantile of a latency.
  core::Duration metric_window = core::Duration::seconds(60);  ///< Window of a latency.
  double tolerance = 0.1;  ///< No change while metric/target is so near 1.
  core::Duration stabilization_window = core::Duration::seconds(300);
  core::Duration cooldown = core::Duration::seconds(300);  ///< Idle time before the last one goes.
  Analyzer analyzer = Analyzer::kV1;
  OptimizationTarget optimization_target = OptimizationTarget::kThroughput;
  Role role = Role::kBoth;  ///< dynamo-planner's targets are of it.
  std::vector<std::pair<core::SimTime, std::int64_t>> replicas_at = {};  ///< In order of time.
};

/// One autoscaling policy by name.
struct ScalerEntry {
  std::string_view name;
  std::string_view summary;
  std::string_view source;                  ///< The system and version that it is taken from.
  core::Duration interval;                  ///< scaling_interval, unless set.
  std::span<const std::string_view> reads;  ///< Settings by which it differs from others.
  bool shares_pools = false;  ///< One for all pools that serve the same, not one for each.
  std::unique_ptr<Scaler> (*make)(const ScalerSettings& settings);

  [[nodiscard]] bool reads_setting(std::string_view name) const;
};

[[nodiscard]] std::span<const ScalerEntry> scalers();
/// The policy of that name, else an error that names the nearest. The error has no field.
[[nodiscard]] core::Result<const ScalerEntry*> find_scaler(const std::string& name);

}  // namespace ridgeline::scaling
