#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "engine/capacity.hpp"
#include "engine/engine_plan.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// Warns that one rank stands for all; its message speaks of the workload.
inline constexpr std::string_view kDataParallelWarning = "W-data-parallel";
/// Asynchronous steps that wait for the host all the same.
inline constexpr std::string_view kAsyncWaitsWarning = "W-async-waits";

/// A network on its GPUs made runnable: every default filled, every name looked up. Shared and
/// const once it is resolved, so that any number of instances, runs and threads may use it; it
/// stays where it is, because the step-time model refers to its other parts.
struct Deployment {
  Deployment() = default;
  Deployment(const Deployment&) = delete;
  Deployment& operator=(const Deployment&) = delete;
  Deployment(Deployment&&) = delete;
  Deployment& operator=(Deployment&&) = delete;
  ~Deployment() = default;

  DeploymentSection section;  ///< With what was derived.
  document::Node
      network_document;         ///< The network's config.json, with what the section sets in it.
  document::Node gpu_document;  ///< The GPU's document, likewise.
  model::ModelSpec network;
  hardware::GpuSpec gpu;
  engine::MemoryPlan memory;
  std::vector<engine::MemoryLine> memory_lines;  ///< As an engine that is not vLLM divides it.
  engine::EngineOptions engine;                  ///< Options of every run, but for its seed.
  engine::RequestPath path;
  engine::HostTime host;
  latency::Execution execution;
  std::unique_ptr<latency::StepTimeModel> latency;
  core::Warnings warnings;
};

/// Looks up network, GPU, engine version and step-time model, checks that the network divides and
/// fits, and fills what the section leaves open. A network that does not fit, or a max_model_len
/// that does not, is infeasible: the error says where the memory goes and what would make it fit
/// (scenario/fitting.hpp). `provenance` gives the errors their places, and says what its author
/// stated; `workload` is what the deployment is to serve, which some warnings depend on.
[[nodiscard]] core::Result<std::shared_ptr<const Deployment>> resolve_deployment(
    DeploymentSection section, const std::vector<Provenance>& provenance, const Workload& workload);

}  // namespace ridgeline::scenario
