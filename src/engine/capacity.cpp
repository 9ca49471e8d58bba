#include "engine/capacity.hpp"

#include <cmath>
#include <cstdint>

#include "core/units.hpp"
#include "hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::engine {

MemoryPlan plan_memory(const model::ModelSpec& network,
                       const hardware::GpuSpec& gpu,
                       const MemoryOptions& options) {
  const model::Sharding sharding{.tensor_parallel_size = options.tensor_parallel_size};
  MemoryPlan plan;
  plan.usable = gpu.usable_memory;
  plan.utilization = options.gpu_memory_utilization;
  plan.budget = plan.usable * plan.utilization;
  plan.weights = model::weight_bytes_per_rank(network, sharding);
  plan.reserve = core::gibibytes(kReserveGib);
  plan.kv_cache = plan.budget - plan.weights - plan.reserve;
  plan.block = model::kv_bytes_per_token_per_rank(network, sharding) * options.block_size;
  if (plan.kv_cache > core::Bytes(0) && plan.block > core::Bytes(0)) {
    plan.num_gpu_blocks =
        core::Blocks(static_cast<std::int64_t>(std::floor(plan.kv_cache / plan.block)));
  }
  plan.kv_tokens = core::Tokens(plan.num_gpu_blocks.value() * options.block_size.value());
  return plan;
}

std::int64_t smallest_fitting_tp(const model::ModelSpec& network,
                                 const hardware::GpuSpec& gpu,
                                 const MemoryOptions& options,
                                 core::Tokens tokens) {
  for (std::int64_t tp = 1; tp <= gpu.gpus_per_node; tp *= 2) {
    if (!model::check_sharding(network, {.tensor_parallel_size = tp})) {
      continue;
    }
    MemoryOptions candidate = options;
    candidate.tensor_parallel_size = tp;
    // The null block holds no tokens.
    if (plan_memory(network, gpu, candidate).kv_tokens >= tokens + options.block_size) {
      return tp;
    }
  }
  return 0;
}

}  // namespace ridgeline::engine
