#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

/// Rules by which autoscalers choose the number of replicas.
namespace ridgeline::scaling {

/// One replica as the workload-variant autoscaler sees it.
struct ReplicaGauges {
  std::size_t variant = 0;
  double kv_usage = 0.0;
  double waiting = 0.0;
};
/// Replicas of one price.
struct VariantCounts {
  std::int64_t current = 0;
  std::int64_t desired = 0;  ///< By the last decision; 0: none.
  std::int64_t pending = 0;
  double cost = 0.0;
  std::int64_t fewest = 1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};
struct SpareThresholds {
  double kv = 0.8;
  double queue = 5.0;
  double kv_trigger = 0.1;
  double queue_trigger = 3.0;
};
struct SpareDecision {
  double spare_kv = 0.0;  ///< Mean over replicas that are not saturated.
  double spare_queue = 0.0;
  std::int64_t unsaturated = 0;
  bool up = false;
  bool down_is_safe = false;
  std::vector<std::int64_t> targets;  ///< By variant.
};
/// llm-d's workload-variant autoscaler, saturation V1 (b08b1c7): one replica up or down by the mean
/// spare capacity, up of the cheapest variant without one on its way, down of the dearest with two
/// or more. A variant that is at its bound is left out, which is ours.
[[nodiscard]] SpareDecision spare_capacity(const std::vector<ReplicaGauges>& replicas,
                                           const std::vector<VariantCounts>& variants,
                                           const SpareThresholds& thresholds = {});

/// One replica as inference-sim's saturation analyser (f90a1e3) sees it.
struct ReplicaTokens {
  std::size_t variant = 0;
  double kv_capacity = 0.0;  ///< Tokens.
  double kv_in_use = 0.0;
  double waiting = 0.0;  ///< Requests.
  double cost = 0.0;
};
struct TokenThresholds {
  double mean_input = 512.0;
  double kv = 0.8;
  double up = 0.8;
  double down = 0.4;
};
struct TokenDecision {
  double supply = 0.0;
  double demand = 0.0;
  double required = 0.0;
  double spare = 0.0;
  std::size_t variant = 0;
  std::int64_t delta = 0;  ///< Change of that variant; 0: no decision.
};
[[nodiscard]] TokenDecision token_capacity(const std::vector<ReplicaTokens>& replicas,
                                           double pending_capacity,
                                           const TokenThresholds& thresholds = {});

/// One step of Dynamo's planner (2a6da14): `loads` of its engines against two thresholds. One above
/// is enough for one more, all must be below for one less; nothing where neither holds.
struct PlannerBounds {
  double up = 1.0;
  double down = 0.1;
  bool up_included = true;     ///< >= and not >.
  bool down_included = false;  ///< <= and not <.
};
[[nodiscard]] std::optional<std::int64_t> planned_replicas(const std::vector<double>& loads,
                                                           std::int64_t replicas,
                                                           std::int64_t fewest,
                                                           const PlannerBounds& bounds);

}  // namespace ridgeline::scaling
