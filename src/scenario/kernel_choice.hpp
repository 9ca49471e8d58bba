#pragma once

#include "engine/profiles.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// The kernels that a section asks for, where its engine has a choice.
[[nodiscard]] latency::KernelChoice kernel_choice(const EngineSection& engine);

/// Whether no step has a CUDA graph: enforce_eager, or cudagraph_mode NONE.
[[nodiscard]] bool runs_eagerly(const EngineSection& engine);
/// Whether CUDA graphs of decodes are in pieces around the attention too.
[[nodiscard]] bool cuts_graphs(const EngineSection& engine, const engine::Profile& profile);

/// Whether experts run in kernels that Triton compiles when a server first needs them: those of
/// 16-bit weights, of FP8 in blocks before Blackwell, and of MXFP4 where `choice` says so.
[[nodiscard]] bool compiles_experts(const model::ModelSpec& network,
                                    const hardware::GpuSpec& gpu,
                                    const latency::KernelChoice& choice);

/// Warns of each choice that changes no step of this network on this GPU (W-ignored-setting).
void note_idle_choices(Resolution& work);

}  // namespace ridgeline::scenario
