#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// Warns that one rank stands for all; its message speaks of the workload.
inline constexpr std::string_view kDataParallelWarning = "W-data-parallel";

/// A scenario made runnable: every default filled, every name looked up. It stays where it is,
/// because its parts refer to each other.
struct Resolved {
  Resolved() = default;
  Resolved(const Resolved&) = delete;
  Resolved& operator=(const Resolved&) = delete;
  Resolved(Resolved&&) = delete;
  Resolved& operator=(Resolved&&) = delete;
  ~Resolved() = default;

  Scenario scenario;                   ///< With what was derived: run again, it gives the same run.
  std::vector<Provenance> provenance;  ///< One per option, in the table's order.
  document::Node
      network_document;         ///< The network's config.json, with what the scenario sets in it.
  document::Node gpu_document;  ///< The GPU's document, likewise.
  model::ModelSpec network;
  hardware::GpuSpec gpu;
  engine::MemoryPlan memory;
  engine::EngineOptions engine;
  engine::RequestPath path;
  engine::HostTime host;
  latency::Execution execution;
  std::unique_ptr<latency::StepTimeModel> latency;
  core::Warnings warnings;
};

/// Looks up network, GPU, engine version and step-time model, checks that the network divides and
/// fits, and fills what the scenario leaves open. A network that does not fit, or a max_model_len
/// that does not, is infeasible: the error says where the memory goes and what would make it fit
/// (scenario/fitting.hpp).
[[nodiscard]] core::Result<std::unique_ptr<Resolved>> resolve(LoadedScenario loaded);

}  // namespace ridgeline::scenario
