#pragma once

#include <cstdint>
#include <optional>

#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

/// Products whose rows the kernel before them writes quantised.
namespace ridgeline::latency::kernel {

/// Whether vLLM's fusions know the format of a product's rows: FP8 with one scale for all, and
/// NVFP4 (vllm/compilation: allreduce_rms_fusion.py, fusion_attn.py). Rows scaled in groups are
/// quantised by a kernel of their own.
[[nodiscard]] bool may_be_written_quantised(model::DType weights);

/// Rows up to which the kernel before that product writes them quantised: the all-reduce with the
/// norm before qkv_proj and gate_up_proj, attention before o_proj; 0 for none. The SiLU before
/// down_proj does so by neither pass. `exchange` is the layer's all-reduce, where it computes the
/// norm after it.
[[nodiscard]] std::int64_t rows_written_quantised(const model::Operator& product,
                                                  const KernelChoice& choice,
                                                  const std::optional<model::AllReduce>& exchange,
                                                  const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
