#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/scaling/registry.hpp"
#include "cluster/scaling/victim.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {

struct PoolSection;

/// Section `cluster.autoscaling`: which policy decides how many instances there are, and how they
/// start and go. Without `name`: as many as `cluster.instances`.
struct AutoscalingSection {
  std::optional<std::string> name;  ///< In scaling/registry.hpp.
  std::optional<std::int64_t> min_replicas;
  std::optional<std::int64_t> max_replicas;
  /// Settings of prefill instances, where prefill and decode are apart; the others are then of the
  /// decode instances. Without a maximum there are as many as from the start.
  std::optional<std::int64_t> prefill_min_replicas;
  std::optional<std::int64_t> prefill_max_replicas;
  std::optional<std::string> prefill_metric;
  std::optional<double> prefill_target;
  std::optional<document::Node> prefill_replicas_at;
  std::optional<document::Node> prefill_cron;
  std::optional<core::Duration> scaling_interval;
  std::optional<core::Duration> metrics_interval;
  std::optional<std::string> metric;
  std::optional<double> metric_quantile;
  std::optional<core::Duration> metric_window;
  std::optional<double> target;
  std::optional<double> tolerance;
  std::optional<core::Duration> stabilization_window;
  std::optional<core::Duration> cooldown;
  std::optional<std::string> analyzer;
  std::optional<std::string> optimization_target;
  std::optional<document::Node> replicas_at;  ///< A list of [time, replicas].
  std::optional<document::Node> cron;     ///< A list of "minute hour day month weekday=replicas".
  std::optional<std::string> cron_start;  ///< The calendar's minute at which the run begins.
  std::optional<std::string> scale_down;
  std::optional<core::Duration> drain_timeout;
  std::optional<document::Node> cold_start;  ///< Times by phase.
};

/// The section as it is for one of several pools, whose own keys come first.
[[nodiscard]] AutoscalingSection autoscaling_of(const AutoscalingSection& section,
                                                const PoolSection& pool);
/// The policy's settings; problems name the keys below the section.
[[nodiscard]] core::Result<scaling::ScalerSettings> scaler_settings(
    const AutoscalingSection& section, scaling::Role role = scaling::Role::kBoth);
[[nodiscard]] scaling::VictimPolicy victim_policy(const AutoscalingSection& section);

/// Instances that there may be at most, at once.
[[nodiscard]] std::int64_t most_instances(const AutoscalingSection& section,
                                          std::int64_t instances);

}  // namespace ridgeline::scenario
