#pragma once

#include <span>
#include <string_view>

#include "core/result.hpp"
#include "workload/generate/client.hpp"

namespace ridgeline::workload {

/// A kind of traffic that others published.
struct WorkloadPreset {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  ClientSpec (*make)();  ///< At one group per second, Poisson.
};

[[nodiscard]] std::span<const WorkloadPreset> workload_presets();
/// The preset of that name; unknown names list the nearest.
[[nodiscard]] core::Result<const WorkloadPreset*> find_workload_preset(std::string_view name);

}  // namespace ridgeline::workload
