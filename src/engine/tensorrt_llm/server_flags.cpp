#include "engine/tensorrt_llm/server_flags.hpp"

#include <array>
#include <span>

#include "engine/engine_plan.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

// Source: commands/serve.py and llmapi/llm_args.py of 1.2, from memory, not looked up.
constexpr auto kRefused = std::to_array<ServerFlags>({
    {"TensorRT-LLM's file of further settings is not read: they are flags here, by the same names",
     "extra-llm-api-options extra-llm-api-config"},
    {"TensorRT-LLM's PyTorch backend has no such limit: a prompt is held to --max-num-tokens "
     "without chunks, and to --max-model-len",
     "max-input-len max-prompt-len"},
    {"has another word here: --enable-expert-parallel, which hands out whole experts to all "
     "GPUs",
     "moe-expert-parallel-size moe-ep-size moe-tensor-parallel-size moe-tp-size "
     "moe-cluster-parallel-size cluster-size"},
    {"TensorRT-LLM's prefill and decode apart are not simulated: --engine vllm with "
     "--prefill-instances are",
     "server-role metadata-server-config-file disagg-cluster-uri cache-transceiver-config"},
    {"TensorRT-LLM's context parallelism is not simulated", "cp-size cp-config"},
    {"TensorRT-LLM's speculation is set by --speculative-config, as vLLM's",
     "speculative-model speculative-model-dir decoding-type"},
    {"TensorRT-LLM's PyTorch backend alone is simulated: nothing is built",
     "engine-dir kv-cache-type gemm-plugin gpt-attention-plugin paged-kv-cache "
     "use-paged-context-fmha multiple-profiles max-prompt-embedding-table-size "
     "max-encoder-input-len"},
    {"kernels are priced as TensorRT-LLM chooses them by default",
     "attn-backend moe-config allreduce-strategy sparse-attention-config "
     "torch-compile-config"},
    {"TensorRT-LLM's adapters and guided decoding are not simulated",
     "lora-dir peft-cache-config guided-decoding-config"},
});

constexpr auto kIgnored = std::to_array<ServerFlags>({
    {"no effect on timing: TensorRT-LLM's server and processes",
     "gpus-per-node= num-postprocess-workers= fail-fast-on-attention-window-too-large "
     "custom-tokenizer= hf-revision= hf-code-revision= tool-parser= disagg-cluster-name="},
});

}  // namespace

std::span<const ServerFlags> refused_flags() {
  return kRefused;
}

std::span<const ServerFlags> flags_without_effect() {
  return kIgnored;
}

}  // namespace ridgeline::engine::tensorrt_llm
