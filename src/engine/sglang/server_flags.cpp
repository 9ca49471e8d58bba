#include "engine/sglang/server_flags.hpp"

#include <array>
#include <span>

#include "engine/engine_plan.hpp"

namespace ridgeline::engine::sglang {
namespace {

// Source: ServerArgs.add_cli_args (srt/server_args.py) of 0.5, from memory, not looked up.
constexpr auto kRefused = std::to_array<ServerFlags>({
    {"has another word here: --enable-expert-parallel, which hands out whole experts to all "
     "GPUs",
     "ep-size expert-parallel-size"},
    {"has another word here: --set model.KEY=VALUE", "json-model-override-args"},
    {"has another word here: --seed", "random-seed"},
    {"has another word here: --kv-cache-dtype, --quantization and --dtype",
     "quantization-param-path modelopt-quant torchao-config enable-fp32-lm-head"},
    {"SGLang's speculation is not simulated: --engine vllm or tensorrt-llm take drafts",
     "speculative-draft-model-path speculative-draft-model-revision "
     "speculative-draft-load-format speculative-num-steps speculative-eagle-topk "
     "speculative-num-draft-tokens speculative-accept-threshold-single "
     "speculative-accept-threshold-acc speculative-token-map speculative-attention-mode "
     "speculative-moe-runner-backend speculative-draft-model-quantization "
     "speculative-draft-attention-backend speculative-ngram-min-match-window-size "
     "speculative-ngram-max-match-window-size speculative-ngram-min-bfs-breadth "
     "speculative-ngram-max-bfs-breadth speculative-ngram-match-type "
     "speculative-ngram-branch-length speculative-ngram-capacity enable-multi-layer-eagle"},
    {"SGLang's hierarchical cache is not simulated: --engine vllm with --cpu-bytes-to-use "
     "keeps KV outside the GPU",
     "hicache-io-backend hicache-mem-layout hicache-storage-prefetch-policy "
     "hicache-storage-backend-extra-config enable-lmcache "
     "disaggregation-decode-enable-offload-kvcache"},
    {"SGLang's prefill and decode apart are not simulated: --engine vllm with "
     "--prefill-instances are",
     "disaggregation-transfer-backend disaggregation-bootstrap-port disaggregation-decode-tp "
     "disaggregation-decode-dp disaggregation-prefill-pp disaggregation-ib-device "
     "disaggregation-decode-polling-interval encoder-only language-only encoder-urls "
     "encoder-transfer-backend"},
    {"SGLang's pipelines are not simulated",
     "pp-max-micro-batch-size pp-async-batch-depth enable-dynamic-chunking"},
    {"SGLang's overlap of two batches is not simulated",
     "enable-single-batch-overlap tbo-token-distribution-threshold"},
    {"SGLang's data-parallel ranks are simulated with --enable-dp-attention alone, without a "
     "delayer of prefills",
     "prefill-round-robin-balance enable-prefill-delayer prefill-delayer-max-delay-passes "
     "prefill-delayer-token-usage-low-watermark moe-dense-tp-size enable-dp-lm-head "
     "elastic-ep-backend attention-context-parallel-size attn-cp-size moe-data-parallel-size "
     "moe-dp-size"},
    {"SGLang's CUDA graphs are captured at its default sizes, to --cuda-graph-max-bs, or not "
     "at all with --disable-cuda-graph",
     "cuda-graph-bs disable-cuda-graph-padding enable-piecewise-cuda-graph "
     "disable-piecewise-cuda-graph piecewise-cuda-graph-max-tokens "
     "piecewise-cuda-graph-tokens piecewise-cuda-graph-compiler enable-torch-compile "
     "torch-compile-max-bs enable-breakable-cuda-graph"},
    {"kernels are priced as SGLang chooses them by default",
     "prefill-attention-backend decode-attention-backend sampling-backend "
     "mm-attention-backend nsa-prefill-backend nsa-decode-backend "
     "fp4-gemm-backend moe-a2a-backend moe-runner-backend flashinfer-mxfp4-moe-precision "
     "enable-flashinfer-allreduce-fusion deepep-mode deepep-config enable-nccl-nvls "
     "enable-mscclpp "
     "disable-flashinfer-cutlass-moe-fp4-allgather triton-attention-reduce-in-fp32 "
     "triton-attention-num-kv-splits triton-attention-split-tile-size "
     "flashinfer-mla-disable-ragged disable-shared-experts-fusion "
     "disable-chunked-prefix-cache enable-deterministic-inference enable-double-sparsity "
     "ds-channel-config-path ds-heavy-channel-num ds-heavy-token-num ds-heavy-channel-type "
     "ds-sparse-decode-threshold"},
    {"experts are spread evenly and are alike busy",
     "ep-num-redundant-experts ep-dispatch-algorithm init-expert-location eplb-algorithm "
     "eplb-rebalance-num-iterations eplb-rebalance-layers-per-chunk "
     "eplb-min-rebalancing-utilization-threshold expert-distribution-recorder-mode "
     "expert-distribution-recorder-buffer-size enable-expert-distribution-metrics"},
    {"SGLang's pools of sliding windows and recurrent states are not simulated",
     "swa-full-tokens-ratio disable-hybrid-swa-memory max-mamba-cache-size mamba-ssm-dtype "
     "mamba-full-memory-ratio mamba-scheduler-strategy mamba-track-interval"},
    {"SGLang's adapters cost nothing here and have no limit",
     "lora-paths max-loras-per-batch max-loaded-loras lora-eviction-policy lora-backend "
     "max-lora-chunk-size enable-lora-overlap-loading"},
    {"structured outputs are not simulated for sglang",
     "grammar-backend constrained-json-whitespace-pattern "
     "constrained-json-disable-any-whitespace"},
    {"SGLang's decode steps are scheduled one by one", "num-continuous-decode-steps"},
    {"networks generate text, token by token",
     "is-embedding enable-multimodal enable-return-hidden-states "
     "enable-custom-logit-processor"},
    {"SGLang's server refuses or ends no request for its length or age here",
     "allow-auto-truncate abort-on-priority-when-disabled"},
});

constexpr auto kIgnored = std::to_array<ServerFlags>({
    {"no effect on timing: SGLang's server, its address and processes",
     "fastapi-root-path= grpc-mode skip-server-warmup warmups= nccl-port= watchdog-timeout= "
     "soft-watchdog-timeout= dist-timeout= dist-init-addr= nccl-init-addr= base-gpu-id= "
     "gpu-id-step= sleep-on-idle custom-sigquit-handler= numa-node* admin-api-key= "
     "tokenizer-worker-num= load-watch-interval= delete-ckpt-after-loading "
     "enable-memory-saver enable-weights-cpu-backup "
     "checkpoint-engine-wait-weights-before-ready enable-p2p-check enable-nan-detection "
     "gc-warning-threshold-secs="},
    {"no effect on timing: SGLang's logs, metrics and traces",
     "log-level= log-level-http= log-requests log-requests-level= log-requests-format= "
     "crash-dump-folder= show-time-cost enable-metrics enable-metrics-for-all-schedulers "
     "tokenizer-metrics-custom-labels-header= tokenizer-metrics-allowed-custom-labels* "
     "bucket-time-to-first-token* bucket-inter-token-latency* bucket-e2e-request-latency* "
     "collect-tokens-histogram prompt-tokens-buckets* generation-tokens-buckets* "
     "decode-log-interval= enable-request-time-stats-logging enable-trace "
     "export-metrics-to-file export-metrics-to-file-dir= enable-cache-report "
     "enable-profile-cuda-graph enable-cudagraph-gc"},
    {"no effect on timing: how SGLang's tokenizer and templates are found",
     "tokenizer-path= weight-version= hf-chat-template-name= completion-template= "
     "file-storage-path= sampling-defaults= preferred-sampling-params= stream-output "
     "enable-tokenizer-batch-encode disable-tokenizer-batch-decode "
     "disable-outlines-disk-cache disable-fast-image-processor keep-mm-feature-on-device"},
});

}  // namespace

std::span<const ServerFlags> refused_flags() {
  return kRefused;
}

std::span<const ServerFlags> flags_without_effect() {
  return kIgnored;
}

}  // namespace ridgeline::engine::sglang
