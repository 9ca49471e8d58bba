#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "core/units.hpp"
#include "hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::engine {

/// Where one GPU's memory goes, term by term. Source: kernel-model section 8
/// (docs/models/kernel.md); the reserve covers activations, CUDA graphs, NCCL and the CUDA context.
struct MemoryPlan {
  core::Bytes usable;      ///< As the driver reports it.
  double utilization = 0;  ///< gpu_memory_utilization.
  core::Bytes budget;      ///< usable * utilization.
  core::Bytes weights;     ///< Of this rank.
  core::Bytes reserve;
  core::Bytes kv_cache;         ///< What is left; negative when the model does not fit.
  core::Bytes block;            ///< KV bytes of one block on this rank, all layers.
  core::Blocks num_gpu_blocks;  ///< Including the null block; 0 when nothing fits.
  core::Tokens kv_tokens;       ///< num_gpu_blocks * block_size.
};

struct MemoryOptions {
  std::int64_t tensor_parallel_size = 1;
  double gpu_memory_utilization = 0.9;
  core::Tokens block_size{16};
};

/// Memory of a rank that is neither weights nor KV cache.
inline constexpr double kReserveGib = 1.2;

[[nodiscard]] MemoryPlan plan_memory(const model::ModelSpec& network,
                                     const hardware::GpuSpec& gpu,
                                     const MemoryOptions& options);

/// The smallest power-of-two tensor_parallel_size up to a node's GPUs that leaves room for `tokens`
/// tokens of KV cache and that divides the network; 0 when none does.
[[nodiscard]] std::int64_t smallest_fitting_tp(const model::ModelSpec& network,
                                               const hardware::GpuSpec& gpu,
                                               const MemoryOptions& options,
                                               core::Tokens tokens);

}  // namespace ridgeline::engine
