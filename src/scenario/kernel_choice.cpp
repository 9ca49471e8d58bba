#include "scenario/kernel_choice.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <variant>

#include <fmt/format.h>

#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/quantised_rows.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/pass.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

bool has_block_experts(const model::ModelSpec& network) {
  return std::ranges::any_of(network.layers, [&](const model::LayerGroup& group) {
    return std::holds_alternative<model::MoeFfn>(group.ffn) &&
           model::layer_precision(network, group).ffn == model::DType::kFp8Block;
  });
}

bool has_block_products(const model::ModelSpec& network) {
  return std::ranges::any_of(model::forward_pass(network, model::Sharding()),
                             [](const model::Operator& op) {
                               const auto* gemm = std::get_if<model::Gemm>(&op.shape);
                               return gemm != nullptr && gemm->weights == model::DType::kFp8Block;
                             });
}

/// Whether attention can write the rows of the product after it quantised.
bool is_written_by_attention(const model::ModelSpec& network, const hardware::GpuSpec& gpu) {
  return std::ranges::any_of(
      model::forward_pass(network, model::Sharding()), [&](const model::Operator& op) {
        return op.name == "o_proj" && latency::kernel::rows_written_quantised(
                                          op, {.fuse_attn_quant = true}, std::nullopt, gpu) > 0;
      });
}

/// Whether vLLM has a limit of messages for so many ranks of the GPU.
bool has_symm_mem(const Resolution& work) {
  return latency::kernel::symm_mem_limits(work.engine().tensor_parallel_size, work.out->gpu)
      .has_value();
}

/// DeepGEMM and symmetric memory where no table of them is at hand: says what their time is taken
/// from.
void note_stand_ins(Resolution& work) {
  const auto note = [&](std::string_view what) {
    work.out->warnings.push_back(
        {.code = "W-unmeasured-kernel",
         .message = fmt::format("no table of DeepGEMM's {} is at hand: it takes the constants of "
                                "the kernel that runs without DeepGEMM",
                                what),
         .hint = "docs/models/kernel.md, \"DeepGEMM\""});
  };
  const EngineSection& engine = work.engine();
  if (engine.allreduce_use_symm_mem && has_symm_mem(work)) {
    work.out->warnings.push_back(
        {.code = "W-unmeasured-kernel",
         .message = "no table holds all-reduces through symmetric memory: messages beyond vLLM's "
                    "own kernels take the shorter of two shots and NCCL's ways",
         .hint = "docs/models/kernel.md, \"Symmetric memory\""});
  }
  if (engine.moe_backend == "deep_gemm" && has_block_experts(work.out->network)) {
    note("experts");
  }
  if (engine.use_deep_gemm.value_or(false) && work.out->gpu.architecture != "hopper" &&
      has_block_products(work.out->network)) {
    note(fmt::format("products on {}", work.out->gpu.name));
  }
}

template <class Test>
bool any_expert_layer(const model::ModelSpec& network, Test test) {
  return std::ranges::any_of(network.layers, [&](const model::LayerGroup& group) {
    const auto* experts = std::get_if<model::MoeFfn>(&group.ffn);
    return experts != nullptr && test(*experts);
  });
}

}  // namespace

latency::KernelChoice kernel_choice(const EngineSection& engine) {
  using latency::MoeBackend;
  return {.moe_backend = engine.moe_backend == "marlin"      ? MoeBackend::kMarlin
                         : engine.moe_backend == "triton"    ? MoeBackend::kTriton
                         : engine.moe_backend == "deep_gemm" ? MoeBackend::kDeepGemm
                                                             : MoeBackend::kAuto,
          .fuse_allreduce_rms = engine.fuse_allreduce_rms,
          .fuse_attn_quant = engine.fuse_attn_quant,
          .deep_gemm = engine.use_deep_gemm,
          .disable_custom_all_reduce = engine.disable_custom_all_reduce,
          .symm_mem_all_reduce = engine.allreduce_use_symm_mem,
          .fp32_as_tf32 = engine.float32_matmul_precision == "high"};
}

bool runs_eagerly(const EngineSection& engine) {
  return engine.enforce_eager || engine.cudagraph_mode == "NONE";
}

bool cuts_graphs(const EngineSection& engine, const engine::Profile& profile) {
  return engine.cudagraph_mode == "PIECEWISE" ||
         (engine.cudagraph_mode == "auto" && !profile.whole_graphs);
}

bool compiles_experts(const model::ModelSpec& network,
                      const hardware::GpuSpec& gpu,
                      const latency::KernelChoice& choice) {
  const auto is_compiled = [&](model::DType weights) {
    switch (weights) {
      case model::DType::kBf16:
      case model::DType::kFp16:
        return true;
      case model::DType::kFp8Block:
        return gpu.architecture != "blackwell";
      case model::DType::kMxfp4:
        return choice.moe_backend == latency::MoeBackend::kTriton;
      default:
        return false;
    }
  };
  return std::ranges::any_of(network.layers, [&](const model::LayerGroup& group) {
    return std::holds_alternative<model::MoeFfn>(group.ffn) &&
           is_compiled(model::layer_precision(network, group).ffn);
  });
}

void note_idle_choices(Resolution& work) {
  const auto warn = [&](bool idle, std::string_view setting, std::string_view why) {
    if (idle) {
      work.without_effect(setting, why);
    }
  };
  const EngineSection& engine = work.engine();
  const model::ModelSpec& network = work.out->network;
  const bool has_experts = any_expert_layer(network, [](const model::MoeFfn&) { return true; });
  const bool fp32_router =
      any_expert_layer(network, [](const model::MoeFfn& experts) { return experts.router_fp32; });
  warn(engine.moe_backend != "auto" && !has_experts,
       "engine.moe_backend",
       "the network has no experts");
  warn(engine.moe_backend == "deep_gemm" && has_experts && !has_block_experts(network),
       "engine.moe_backend",
       "DeepGEMM multiplies FP8 in blocks");
  warn(engine.use_deep_gemm.has_value() && !has_block_products(network),
       "engine.use_deep_gemm",
       "no dense product of the network is of FP8 in blocks");
  warn(engine.fuse_allreduce_rms.value_or(false) && engine.tensor_parallel_size < 2,
       "engine.fuse_allreduce_rms",
       "one GPU exchanges nothing");
  warn(engine.disable_custom_all_reduce &&
           (engine.tensor_parallel_size < 2 || !work.out->gpu.has_nvlink),
       "engine.disable_custom_all_reduce",
       engine.tensor_parallel_size < 2 ? "one GPU exchanges nothing"
                                       : "vLLM has none without NVLink");
  warn(engine.fuse_allreduce_rms.value_or(false) && engine.tensor_parallel_size > 1 &&
           work.out->gpu.architecture != "hopper" && work.out->gpu.architecture != "blackwell",
       "engine.fuse_allreduce_rms",
       "FlashInfer has no such kernel before Hopper");
  warn(engine.fuse_attn_quant && !is_written_by_attention(network, work.out->gpu),
       "engine.fuse_attn_quant",
       "the product after attention does not multiply FP8 scaled as a whole or NVFP4 here");
  warn(engine.allreduce_use_symm_mem && !has_symm_mem(work),
       "engine.allreduce_use_symm_mem",
       engine.tensor_parallel_size < 2
           ? "one GPU exchanges nothing"
           : "vLLM has it for 2, 4, 6 and 8 ranks of Hopper and Blackwell over NVLink");
  warn(engine.float32_matmul_precision == "high" && !fp32_router,
       "engine.float32_matmul_precision",
       "no product of the network is in FP32");
  warn(runs_eagerly(engine) && engine.max_cudagraph_capture_size.has_value(),
       "engine.max_cudagraph_capture_size",
       "no graph is captured");
  warn(engine.enforce_eager && engine.cudagraph_mode != "auto" && engine.cudagraph_mode != "NONE",
       "engine.cudagraph_mode",
       "enforce_eager captures no graph");
  note_stand_ins(work);
}

}  // namespace ridgeline::scenario
