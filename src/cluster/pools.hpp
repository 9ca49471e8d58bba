#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/slowed_model.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::cluster {

/// Instances that are alike. Pointers outlive the cluster.
struct InstancePool {
  std::int64_t instances = 1;
  const engine::EngineOptions* options = nullptr;
  const latency::StepTimeModel* model = nullptr;
  const engine::HostTime* host = nullptr;
  double weight = 1.0;  ///< Weight of each instance, as routing::InstanceView::weight.
  /// Standard deviation of the logarithm of a factor on all step times, drawn for each instance.
  double spread = 0.0;
  std::int64_t ranks_in_lock_step = 1;  ///< As ClusterInputs::ranks_in_lock_step.
};

/// Which pools serve a request: a group of pools, or nothing where none serves its model.
struct PoolGroups {
  std::vector<std::vector<bool>> members;  ///< By group and pool.
  std::function<std::optional<std::uint32_t>(const domain::Request&)> of;
};

/// Whether some instances are data-parallel ranks in lock-step.
[[nodiscard]] bool have_ranks(const std::vector<InstancePool>& pools);

/// The pool of each instance, by its id.
[[nodiscard]] std::vector<std::size_t> pools_of_instances(const std::vector<InstancePool>& pools);

/// How much slower or faster than its pool's model an instance is for good: a draw by its id. Its
/// median is 1.
[[nodiscard]] engine::Slowdown own_pace(double spread, core::InstanceId id, std::uint64_t seed);

}  // namespace ridgeline::cluster
