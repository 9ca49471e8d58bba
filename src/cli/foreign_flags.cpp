#include "cli/foreign_flags.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "engine/engine_plan.hpp"
#include "engine/schedulers.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::cli {
namespace {

constexpr auto kAliases = std::to_array<ForeignAlias>({
    // vllm serve. Its short forms have one dash there, and may have two here.
    {"tp", "tensor-parallel-size"},
    {"pp", "pipeline-parallel-size"},
    {"dp", "data-parallel-size"},
    {"pcp", "prefill-context-parallel-size"},
    {"dcp", "decode-context-parallel-size"},
    {"ep", "enable-expert-parallel"},
    {"sc", "speculative-config"},
    {"num-gpu-blocks-override", "num-gpu-blocks"},
    {"engine", "engine-version"},
    // sglang.launch_server
    {"model-path", "model"},
    {"tp-size", "tensor-parallel-size"},
    {"pp-size", "pipeline-parallel-size"},
    {"dp-size", "data-parallel-size"},
    {"context-length", "max-model-len"},
    {"disable-cuda-graph", "enforce-eager"},
    {"enable-symm-mem", "allreduce-use-symm-mem"},
    {"enable-torch-symm-mem", "allreduce-use-symm-mem"},
    // trtllm-serve
    {"max-seq-len", "max-model-len"},
    {"kv-cache-free-gpu-memory-fraction", "free-gpu-memory-fraction"},
    // vllm bench serve
    {"random-input-len", "input-len"},
    {"random-output-len", "output-len"},
    {"random-prefix-len", "prefix-len"},
    {"prefix-repetition-prefix-len", "prefix-len"},
    {"prefix-repetition-suffix-len", "input-len"},
    {"prefix-repetition-output-len", "output-len"},
    {"prefix-repetition-num-prefixes", "num-prefixes"},
    {"sonnet-prefix-len", "prefix-len"},
    {"sonnet-output-len", "output-len"},
    {"dataset-path", "trace"},
    // inference-sim
    {"hardware", "gpu"},
    {"bench-data-path", "bench-data"},
    {"latency-model", "latency"},
    {"rate", "request-rate"},
    {"num-requests", "num-prompts"},
    {"concurrency", "max-concurrency"},
    {"prompt-tokens", "input-len"},
    {"output-tokens", "output-len"},
    {"prefix-tokens", "prefix-len"},
    {"workload-spec", "trace"},
    {"trace-data", "trace"},
    {"total-kv-blocks", "num-gpu-blocks"},
    {"block-size-in-tokens", "block-size"},
    {"max-num-running-reqs", "max-num-seqs"},
    {"results-path", "output"},
    {"num-instances", "instances"},
    {"routing-policy", "router"},
    {"routing", "router"},
    // production-stack's router
    {"routing-logic", "router"},
    {"admission-policy", "admission"},
    {"per-band-capacity", "per-band-requests"},
    {"usage-limit-threshold", "min-ceiling"},
    {"routing-latency", "gateway-latency"},
    {"snapshot-refresh-interval", "refresh-metrics-interval"},
    {"cache-signal-delay", "kv-events-delay"},
});

// Source: the flag lists of vLLM 0.8 to 0.27 (vllm/engine/arg_utils.py,
// entrypoints/openai/cli_args.py, benchmarks/serve.py and datasets.py) and of inference-sim
// (cmd/root.go).
constexpr auto kAnswers = std::to_array<ForeignAnswer>({
    // What has another word here.
    {"has another word here: the scenario file, ridgeline run FILE.yaml", "config"},
    {"has another word here: --num-gpu-blocks, or --gpu-memory-utilization",
     "kv-cache-memory-bytes"},
    {"has another word here: --use-deep-gemm true or false", "fp8-gemm-backend"},
    {"has another word here: --cudagraph-mode, --fuse-allreduce-rms and --fuse-attn-quant, for the "
     "members that are modelled",
     "compilation-config cc"},
    {"has another word here: --speculative-config", "spec-method spec-model spec-tokens"},
    {"has another word here: --set model.KEY=VALUE",
     "hf-overrides rope-scaling rope-theta model-class-overrides"},
    {"has another word here: --generation-config auto or vllm, as sampling has its time",
     "override-generation-config temperature top-p top-k min-p frequency-penalty presence-penalty "
     "repetition-penalty"},
    {"has another word here: --slo-ttft, --slo-tpot, --slo-itl and --slo-e2e, with --slo-statistic",
     "slo-targets"},
    {"has another word here: -o FILE, or --client-results vllm-bench=FILE",
     "save-result save-detailed append-result result-dir result-filename"},
    {"has another word here: --requests-out FILE", "metrics-path itl-output record-itl"},
    {"has another word here: --think-time 500ms, with --think-time-distribution",
     "think-time-ms think-time-dist"},
    {"has another word here: --steps-out FILE.jsonl, then ridgeline steps",
     "profile profiler-config collect-detailed-traces enable-layerwise-nvtx-tracing "
     "ray-workers-use-nsight trace-level summarize-trace trace-output"},
    {"has another word here: --latency-set KEY=VALUE, or --latency-constants FILE",
     "alpha-coeffs beta-coeffs defaults-filepath"},
    {"has another word here: --scheduling-policy", "scheduler preemption-policy"},
    {"has another word here: a workload description with a rate in pieces (docs/workloads.md)",
     "ramp-up-strategy ramp-up-start-rps ramp-up-end-rps"},
    // What is not modelled.
    {"is not modelled: CUDA graphs are captured at vLLM's default sizes, or not at all with "
     "--enforce-eager",
     "cuda-graph-sizes cudagraph-capture-sizes optimization-level"},
    {"is not modelled: kernels are priced as vLLM chooses them by default",
     "attention-backend attention-config ac disable-cascade-attn linear-backend "
     "mamba-backend gdn-prefill-backend kda-prefill-backend kernel-config "
     "enable-flashinfer-autotune ir-op-priority enable-bf16x3-router-gemm "
     "override-attention-dtype use-fp64-gumbel mamba-ssu-algorithm "
     "enable-flash-late-interaction"},
    {"is not modelled: the KV cache is one pool of blocks on the GPU, as vLLM's default",
     "calculate-kv-scales kv-cache-dtype-skip-layers kv-sharing-fast-prefill "
     "disable-hybrid-kv-cache-manager disable-sliding-window prefix-match-unit "
     "kv-transfer-config ec-transfer-config ec-manager-config kv-transfer-bandwidth "
     "kv-transfer-base-latency"},
    {"is not modelled as such: KV outside the GPU is set by --cpu-bytes-to-use 100GiB and the "
     "other "
     "options of cluster.kv_offload",
     "kv-offloading-backend kv-offloading-size kv-cpu-blocks kv-offload-threshold "
     "kv-offload-config enable-hierarchical-cache hicache-size hicache-ratio hicache-write-policy "
     "hicache-storage-backend"},
    {"is not modelled: recurrent states are kept as vLLM does by default, \"align\" from 0.27 on",
     "mamba-block-size mamba-cache-dtype mamba-cache-mode mamba-cache-philox-rounds "
     "mamba-ssm-cache-dtype enable-mamba-cache-stochastic-rounding replayssm-buffer-len "
     "use-replayssm"},
    {"is not modelled: weights stay on the GPU",
     "cpu-offload-gb cpu-offload-params offload-backend offload-group-size offload-num-in-group "
     "offload-params offload-prefetch-step weight-transfer-config"},
    {"is not modelled: the scheduler follows the version's default policy",
     "scheduler-cls prefill-schedule-interval"},
    {"is not modelled: it belongs to vLLM's V0 engine",
     "num-scheduler-steps multi-step-stream-outputs scheduler-delay-factor "
     "use-v2-block-manager disable-async-output-proc max-seq-len-to-capture num-lookahead-slots "
     "enable-prompt-adapter max-prompt-adapter-token max-prompt-adapters prompt-adapters "
     "override-neuron-config"},
    {"is not modelled: one API server, as by default",
     "renderer-num-workers disable-frontend-multiprocessing"},
    {"is not modelled: instances are equal behind one gateway (--instances), and of "
     "--data-parallel-size one rank is simulated",
     "data-parallel-external-lb data-parallel-hybrid-lb data-parallel-multi-port-external-lb "
     "data-parallel-rank data-parallel-size-local data-parallel-start-rank "
     "disable-nccl-for-dp-synchronization enable-elastic-ep nnodes "
     "admission-latency prefill-instances decode-instances prefill-decode-instances "
     "encode-instances encode-decider pd-decider pd-prefix-threshold pd-transfer-bandwidth "
     "pd-transfer-base-latency pd-transfer-contention max-gateway-queue-depth "
     "queue-shedding in-flight-eviction model-autoscaler-interval-us"},
    {"is not modelled: context is cut by --prefill-context-parallel-size alone",
     "cp-kv-cache-interleave-size dcp-kv-cache-interleave-size dcp-comm-backend"},
    {"is not modelled: experts are spread evenly and are alike busy",
     "enable-eplb eplb-config eplb-log-balancedness eplb-step-interval eplb-window-size "
     "expert-placement-strategy num-redundant-experts moe-comm-backend"},
    {"is not modelled: a step is one batch, not two that overlap",
     "enable-dbo dbo-decode-token-threshold dbo-prefill-token-threshold ubatch-size"},
    {"is not modelled: of adapters only their number in a batch counts, --max-loras",
     "lora-modules lora-dtype lora-extra-vocab-size lora-target-modules max-lora-rank "
     "max-cpu-loras fully-sharded-loras long-lora-scaling-factors enable-lora-bias "
     "enable-mixed-moe-lora-format enable-moe-shared-loras enable-tower-connector-lora "
     "specialize-active-lora default-mm-loras qlora-adapter-name-or-path lora-assignment "
     "lora-config lora-adapter-capacity lora-load-base-latency-us "
     "lora-load-bandwidth-bytes-us lora-footprint-bytes-per-rank lora-scorer-weight"},
    {"is not modelled: the tokens of images, audio and video count, not their encoder",
     "allowed-local-media-path allowed-media-domains disable-chunked-mm-input "
     "disable-mm-preprocessor-cache enable-mm-embeds enable-multimodal-encoder-data-parallel "
     "interleave-mm-strings language-model-only limit-mm-per-prompt media-io-kwargs "
     "mm-device-do-normalize mm-encoder-attn-backend mm-encoder-attn-dtype "
     "mm-encoder-fp8-scale-path mm-encoder-fp8-scale-save-margin mm-encoder-fp8-scale-save-path "
     "mm-encoder-only mm-encoder-tp-mode mm-hasher-algorithm mm-ipc-gpu-memory-gb "
     "mm-processor-cache-gb mm-processor-cache-type mm-processor-device mm-processor-kwargs "
     "mm-shm-cache-max-object-size-mb mm-tensor-ipc skip-mm-profiling video-pruning-method "
     "video-pruning-rate enable-multimodal-chat random-mm-base-items-per-request "
     "random-mm-num-mm-items-range-ratio random-mm-limit-mm-per-prompt random-mm-bucket-config "
     "asr-max-audio-len-sec asr-min-audio-len-sec"},
    {"is not modelled: networks generate text, token by token, each as long as the request says",
     "task runner convert pooler-config override-pooler-config diffusion-config "
     "enable-prompt-embeds random-batch-size no-reranker use-beam-search"},
    {"is not modelled: grammars take what --grammar-compile-time and --grammar-mask-time say, "
     "whatever compiles them",
     "structured-outputs-config guided-decoding-backend "
     "guided-decoding-disable-additional-properties guided-decoding-disable-any-whitespace "
     "guided-decoding-disable-fallback"},
    {"is not modelled: every token is sampled without constraints or extra answers",
     "logits-processor-pattern logits-processors logprobs "
     "logprobs-mode max-logprobs return-sampling-mask enable-return-routed-experts"},
    {"is not modelled: weights have the network's own format, or --quantization's",
     "allow-deprecated-quantization quantization-config"},
    {"is not modelled: what a plug-in adds is not known", "additional-config"},
    {"is not modelled: requests of a file have their recorded lengths",
     "sharegpt-output-len custom-output-len hf-output-len spec-bench-output-len"},
    {"is not modelled: there is no such data set here; a file with lengths is read by --trace FILE",
     "hf-subset hf-split hf-name spec-bench-category blazedit-min-distance "
     "blazedit-max-distance"},
    {"is not modelled: answers come token by token, as they are generated", "no-stream"},
});

// What changes no time is passed over with a warning. A name that ends in "=" takes a value, one
// that ends in "*" all words up to the next flag. Source: as above.
constexpr auto kWithoutEffect = std::to_array<ForeignAnswer>({
    {"no effect on timing: the server's address, security and logs",
     "host= port= uds= root-path= api-key* base-url= endpoint= header* insecure backend= "
     "endpoint-type= server-url= server-type= api-format= allow-credentials allowed-headers= "
     "allowed-methods= allowed-origins= ssl-ca-certs= ssl-cert-reqs= ssl-certfile= ssl-ciphers= "
     "ssl-keyfile= enable-ssl-refresh https grpc middleware= h11-max-header-count= "
     "h11-max-incomplete-event-size= disable-fastapi-docs enable-offline-docs "
     "enable-request-id-headers enable-server-load-tracking enable-tokenizer-info-endpoint "
     "disable-access-log-for-endpoints= disable-log-requests disable-log-stats "
     "disable-uvicorn-access-log enable-log-deltas enable-log-outputs enable-log-requests "
     "enable-logging-iteration-details aggregate-engine-logging log-config-file= log-error-stack "
     "max-log-len= uvicorn-log-level= shutdown-timeout= fail-on-environ-validation "
     "fingerprint-mode= fingerprint-value="},
    {"no effect on timing: metrics and events that the server publishes",
     "cudagraph-metrics enable-mfu-metrics enable-per-request-metrics kv-cache-metrics "
     "kv-cache-metrics-sample= kv-events-config= otlp-traces-endpoint= jit-monitor-mode= "
     "jit-monitor-verbose show-hidden-metrics-for-version="},
    {"no effect on timing: how texts are written, read and called",
     "chat-template= chat-template-content-format= default-chat-template-kwargs= "
     "trust-request-chat-template cohere-format= cohere-is-reasoning-model "
     "enable-auto-tool-choice enable-force-include-usage enable-prompt-tokens-details "
     "enable-reasoning reasoning-config= reasoning-parser= reasoning-parser-plugin= "
     "exclude-tools-when-tool-choice-none expand-tools-even-if-tool-choice-none response-role= "
     "return-tokens-as-token-ids tokens-only tool-call-parser= tool-parser-plugin= tool-server= "
     "served-model-name* label= metadata* request-id-prefix= extra-body= skip-chat-template"},
    {"no effect on timing: how the network and its tokenizer are found and loaded",
     "tokenizer= tokenizer-mode= tokenizer-revision= tokenizer-pool-extra-config= "
     "tokenizer-pool-size= tokenizer-pool-type= skip-tokenizer-init trust-remote-code revision= "
     "code-revision= config-format= hf-config-path= hf-token= download-dir= load-format= "
     "ignore-patterns* model-impl= model-loader-extra-config= max-parallel-loading-workers= "
     "pt-load-map-location= safetensors-load-strategy= safetensors-prefetch-block-size= "
     "safetensors-prefetch-num-threads= use-tqdm-on-load enable-ep-weight-filter "
     "io-processor-plugin="},
    {"no effect on timing: vLLM V1 preempts by computing again, and swaps nothing",
     "swap-space= preemption-mode="},
    {"no effect on timing: names of prefix-cache keys", "prefix-caching-hash-algo="},
    {"no effect on timing: where processes run and how they find each other",
     "distributed-executor-backend= distributed-timeout-seconds= cpu-distributed-timeout-seconds= "
     "data-parallel-address= data-parallel-backend= data-parallel-rpc-port= "
     "data-parallel-supervisor-port= dp-supervisor-probe-failure-threshold= "
     "dp-supervisor-probe-interval-s= dp-supervisor-probe-timeout-s= master-addr= master-port= "
     "node-rank= headless device-ids= numa-bind numa-bind-cpus* numa-bind-nodes* worker-cls= "
     "worker-extension-cls= enable-fault-tolerance fault-tolerance-config= enable-sleep-mode "
     "enable-cumem-allocator"},
    {"no effect on timing: the client's own screen, pictures, warm-up and waiting",
     "disable-tqdm num-warmups= ready-check-timeout-sec= timeout= warmup-requests= "
     "prewarm-duration= lazy-generation plot-timeline plot-dataset-stats "
     "timeline-itl-thresholds="},
    {"no effect on timing: all percentiles are in the result",
     "percentile-metrics= metric-percentiles="},
    {"no effect on timing: requests of a file come in its order", "disable-shuffle no-oversample"},
    {"no effect: --gpu says what runs it", "device="},
});

/// Calls `take` with each name of a list between blanks.
template <class Take>
void each_name(std::string_view names, Take take) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    take(name);
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
}

/// The flag that a name of kWithoutEffect writes.
FlagSpec ignored_flag(std::string_view name) {
  FlagSpec flag{.name = {}, .takes = FlagSpec::Takes::kIgnored, .many = name.ends_with('*')};
  if (flag.many || name.ends_with('=')) {
    flag.value = "VALUE";
    name.remove_suffix(1);
  }
  flag.name = name;
  return flag;
}

const FlagSpec* find_spec(std::span<const FlagSpec> specs, std::string_view name) {
  const auto found = std::ranges::find(specs, name, &FlagSpec::name);
  return found == specs.end() ? nullptr : &*found;
}

/// A table and those of the engines with settings of their own, behind it.
template <class TableOf>
std::vector<ForeignAnswer> with_engines(std::span<const ForeignAnswer> table, TableOf table_of) {
  std::vector<ForeignAnswer> all(table.begin(), table.end());
  for (const engine::SchedulerEntry& entry : engine::schedulers()) {
    if (entry.own != nullptr) {
      const std::span<const ForeignAnswer> own = table_of(*entry.own);
      all.insert(all.end(), own.begin(), own.end());
    }
  }
  return all;
}

/// Appends each answer and the flags that it is for.
void add_answers(std::span<const ForeignAnswer> answers, std::string& text) {
  const report::LineLayout layout{.width = 100, .indent = 4, .separator = " "};
  for (const auto& [answer, names] : answers) {
    text += "\n" + report::wrapped("  ", report::words(answer), layout);
    std::string flags;
    each_name(names, [&](std::string_view name) {
      name = name.substr(0, name.find_first_of("=*"));
      flags += fmt::format("--{} ", name);
    });
    text += report::wrapped("    ", report::words(flags), layout);
  }
}

}  // namespace

std::span<const ForeignAlias> foreign_aliases() {
  return kAliases;
}

std::span<const ForeignAnswer> foreign_answers() {
  static const std::vector<ForeignAnswer> kAll =
      with_engines(kAnswers, [](const engine::OwnSettings& own) { return own.refused_flags(); });
  return kAll;
}

std::span<const ForeignAnswer> foreign_without_effect() {
  static const std::vector<ForeignAnswer> kAll = with_engines(
      kWithoutEffect, [](const engine::OwnSettings& own) { return own.flags_without_effect(); });
  return kAll;
}

std::vector<FlagSpec> with_foreign_flags(std::span<const FlagSpec> own) {
  std::vector<FlagSpec> flags(own.begin(), own.end());
  for (const auto& [name, meaning] : kAliases) {
    const FlagSpec* meant = find_spec(own, meaning);
    if (meant != nullptr && find_spec(own, name) == nullptr) {
      flags.push_back({.name = std::string(name),
                       .takes = meant->takes,
                       .repeatable = meant->repeatable,
                       .value = meant->value,
                       .meaning = std::string(meaning)});
    }
  }
  if (find_spec(own, "model") == nullptr) {
    return flags;
  }
  for (const auto& [answer, names] : foreign_answers()) {
    each_name(names, [&](std::string_view name) {
      if (find_spec(own, name) == nullptr) {
        flags.push_back({.name = std::string(name),
                         .takes = FlagSpec::Takes::kRefused,
                         .help = std::string(answer)});
      }
    });
  }
  for (const auto& [answer, names] : foreign_without_effect()) {
    each_name(names, [&](std::string_view name) {
      FlagSpec flag = ignored_flag(name);
      if (find_spec(own, flag.name) == nullptr) {
        flag.help = answer;
        flags.push_back(std::move(flag));
      }
    });
  }
  return flags;
}

core::Warnings flag_warnings(const Arguments& arguments) {
  core::Warnings warnings;
  for (const FlagSpec& flag : arguments.ignored) {
    const auto same = std::ranges::find(warnings, flag.help, &core::Warning::hint);
    if (same == warnings.end()) {
      warnings.push_back({.code = flag.meaning.empty() ? "W-ignored-flag" : flag.meaning,
                          .message = flag.name,
                          .hint = flag.help});
    } else {
      same->message += ", " + flag.name;
    }
  }
  for (core::Warning& warning : warnings) {
    warning.message += ": " + std::exchange(warning.hint, {});
  }
  return warnings;
}

std::string foreign_page() {
  std::string text =
      "Flags of `vllm serve`, `vllm bench serve`, inference-sim and the servers of the other "
      "engines "
      "that are flags of ours under "
      "another name:\n\n";
  for (const auto& [name, meaning] : kAliases) {
    text += fmt::format("  --{:<32} --{}\n", name, meaning);
  }
  text += "\nthose that are passed over, with a warning:\n";
  add_answers(foreign_without_effect(), text);
  text += "\nand those that are answered with an error:\n";
  add_answers(foreign_answers(), text);
  return text;
}

}  // namespace ridgeline::cli
