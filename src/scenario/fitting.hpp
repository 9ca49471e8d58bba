#pragma once

#include <string>

#include "core/units.hpp"
#include "engine/capacity.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::scenario {

/// A network on a GPU that leaves too little KV cache, and the tokens of one request that the cache
/// should hold.
struct FittingQuestion {
  const model::ModelSpec& network;
  const hardware::GpuSpec& gpu;
  engine::MemoryOptions options;
  core::Tokens tokens;
};

/// What would make it fit, in the words of the command line, each tried against the memory plan:
/// engine settings on the same GPUs, as few and as little changed as possible; the smallest
/// tensor_parallel_size or, where one node is not enough, the pipeline with the fewest GPUs; the
/// same network in another format.
[[nodiscard]] std::string fitting_hint(const FittingQuestion& question);

}  // namespace ridgeline::scenario
