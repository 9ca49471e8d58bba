#pragma once

#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "engine/capacity.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"
#include "scenario/deployment.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::verbs {

/// A network that is not cut: its figures as a whole.
inline constexpr model::Sharding kWhole{.tensor_parallel_size = 1};

/// FLOP per byte at which work in a format turns from memory- to compute-bound; nothing where the
/// GPU lacks it.
[[nodiscard]] std::optional<double> ridge(core::FlopsPerSecond peak, const hardware::GpuSpec& gpu);
/// "whole", "window" or "state".
[[nodiscard]] const char* kind_name(engine::CacheLayout::Kind kind);
/// Prompt and output together of the workload's mean request; nothing where it states no lengths.
[[nodiscard]] std::optional<core::Tokens> tokens_of_request(
    const scenario::WorkloadSection& workload);
/// Requests of so many tokens that the cache holds at once in decode, if none shares a block. A
/// prompt's chunk holds more of a window for one step, which few of many requests do at a time.
[[nodiscard]] double requests_held(const scenario::Deployment& deployment, core::Tokens tokens);

}  // namespace ridgeline::verbs
