#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "latency/step_time_model.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/speculation.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

/// The sections of a scenario as their author states them: what is not set is derived in resolve().
/// Keys, units, ranges and meanings stand once, in the option table (scenario/options.cpp).
struct LatencySection {
  std::string name = "kernel";
  std::optional<std::string> constants;
  std::optional<std::string> bench_data;
  std::optional<std::string> hardware_config;
  std::optional<std::string> lookup;
  bool random_tokens = false;
  std::vector<latency::ModelSetting> settings;  ///< Key `latency.set`.
};

struct EngineSection {
  std::string version = "vllm@0.15";
  std::int64_t tensor_parallel_size = 1;
  std::int64_t pipeline_parallel_size = 1;
  std::int64_t data_parallel_size = 1;
  std::int64_t prefill_context_parallel_size = 1;
  std::int64_t decode_context_parallel_size = 1;
  bool enable_expert_parallel = false;
  std::string all2all_backend = "allgather_reducescatter";
  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<std::int64_t> max_num_scheduled_tokens;
  std::optional<std::int64_t> max_model_len;
  std::int64_t block_size = 16;
  std::optional<std::int64_t> num_gpu_blocks;
  std::optional<double> gpu_memory_utilization;
  std::optional<std::int64_t> kv_cache_memory_bytes;
  std::optional<double> cpu_offload_gb;
  std::optional<std::int64_t> offload_group_size;
  std::optional<std::int64_t> offload_num_in_group;
  std::optional<std::int64_t> offload_prefetch_step;
  std::optional<double> offload_bandwidth;
  bool enable_prefix_caching = true;
  bool enable_chunked_prefill = true;
  std::optional<bool> async_scheduling;
  std::int64_t long_prefill_token_threshold = 0;
  std::optional<bool> long_prefill_token_threshold_adaptive;
  std::optional<std::int64_t> max_num_active_seqs;
  std::optional<std::int64_t> prefill_schedule_interval;
  std::optional<std::string> performance_mode;
  /// Tokens; -1: vLLM's None.
  std::optional<std::int64_t> prefix_cache_retention_interval;
  std::optional<double> watermark;
  std::optional<bool> scheduler_reserve_full_isl;
  bool enforce_eager = false;
  std::optional<std::int64_t> max_cudagraph_capture_size;
  std::string cudagraph_mode = "auto";  ///< The version's own.
  std::string moe_backend = "auto";
  std::optional<bool> use_deep_gemm;
  std::optional<bool> fuse_allreduce_rms;
  bool fuse_attn_quant = false;
  bool disable_custom_all_reduce = false;
  bool allreduce_use_symm_mem = false;
  std::string float32_matmul_precision = "highest";
  std::int64_t stream_interval = 1;
  std::int64_t api_server_count = 1;
  std::string dtype = "auto";
  std::optional<std::string> quantization;
  std::string kv_cache_dtype = "auto";
  std::optional<std::string> sampler;
  std::string generation_config = "auto";
  std::string scheduling_policy = "fcfs";
  bool enable_lora = false;
  std::optional<std::int64_t> max_loras;
  std::optional<SpeculativeConfig> speculative_config;
  std::vector<document::NamedValue> settings;  ///< Another engine's, by its own names.
};

struct WorkloadSection {
  std::optional<std::string> trace = {};
  std::optional<core::Duration> trace_start = {};
  std::optional<core::Duration> trace_end = {};
  std::optional<std::string> trace_tenant = {};
  std::optional<std::string> trace_model = {};
  std::optional<double> trace_speed_up = {};
  std::optional<std::string> trace_sessions = {};
  std::optional<bool> skip_bad_rows = {};
  std::optional<std::string> agent_scenario = {};
  std::optional<double> trajectory_start_min_ratio = {};
  std::optional<double> trajectory_start_max_ratio = {};
  std::optional<std::int64_t> warmup_requests_per_lane = {};
  std::optional<core::Duration> trace_idle_gap_cap = {};
  std::optional<core::Duration> system_idle_gap_cap = {};
  std::optional<std::int64_t> num_dataset_entries = {};
  std::optional<std::int64_t> max_context_length = {};
  std::optional<std::int64_t> random_seed = {};
  std::optional<std::int64_t> num_prompts = {};
  std::optional<core::Duration> duration = {};
  std::optional<std::string> arrivals = {};
  std::optional<double> request_rate = {};
  std::optional<double> burstiness = {};
  std::optional<std::int64_t> max_concurrency = {};
  std::optional<core::Duration> think_time = {};
  std::optional<std::string> think_time_distribution = {};
  std::optional<workload::Length> input_len = {};
  std::optional<workload::Length> output_len = {};
  std::optional<std::int64_t> prefix_len = {};
  std::optional<std::int64_t> num_prefixes = {};
  std::optional<std::string> prefix_choice = {};
  std::optional<double> prefix_zipf_exponent = {};
  std::optional<double> structured_output_ratio = {};
  std::optional<std::int64_t> structured_output_schemas = {};
};

/// Targets on the client's clock (metrics::SloTargets).
struct SloSection {
  std::optional<core::Duration> ttft;
  std::optional<core::Duration> tpot;
  std::optional<core::Duration> itl;
  std::optional<core::Duration> e2e;
  std::optional<std::string> statistic;
};

/// Times of a server around the GPU, where they differ from the fitted ones
/// (engine/serving.hpp says what each is): what `calibrate` finds.
struct ServingSection {
  std::optional<core::Duration> network_in;
  std::optional<core::Duration> frontend_time;
  std::optional<core::Duration> frontend_token_time;
  std::optional<core::Duration> emit_time;
  std::optional<core::Duration> delivery_time;
  std::optional<core::Duration> close_time;
  std::optional<core::Duration> host_step_time;
  std::optional<core::Duration> host_sequence_time;
  std::optional<core::Duration> host_rank_time;
  std::optional<core::Duration> frontend_output_time;
  std::optional<core::Duration> frontend_rescan_time;
  std::optional<double> host_class;
  bool first_use_stalls = false;  ///< The server has not warmed up (engine/first_use.hpp).
  std::optional<core::Duration> first_use_time;
  std::optional<std::int64_t> first_use_ranges;
  std::optional<core::Duration> grammar_compile_time;
  std::optional<core::Duration> grammar_mask_time;
};

/// A what-if on a value of the network's or the GPU's document, applied before it is built.
struct Patch {
  std::string target;  ///< "model", "hardware" or "rules", those of the engine's version.
  std::string key;     ///< Dotted below the target: "num_hidden_layers".
  document::Node value;
};

/// A network on its GPUs, and the engine that serves it.
struct DeploymentSection {
  std::optional<std::string>
      recipe;  ///< Published rules for what the engine's section leaves open.
  std::string model;
  std::string gpu;
  LatencySection latency;
  EngineSection engine;
  ServingSection serving;
  std::string request_path = "on";
  std::vector<Patch> patches;  ///< Key `set`.
  /// How well such a server is known that was measured (accuracy::OwnBands); null: it was not, or
  /// flags changed something of it.
  document::Node calibrated = {};
};

/// What is set once for a whole run, whatever is served and by how many deployments. Nothing of it
/// is derived.
struct RunSettings {
  SloSection slo;
  ClusterSection cluster;
  std::optional<std::string> compat = {};
  std::string percentiles = "exact";
  std::int64_t seed = 0;
  std::optional<core::Duration> warmup = {};    ///< Requests sent before it are not measured.
  std::optional<std::string> cache_state = {};  ///< A file: what is cached at the start.
};

/// A whole scenario. Its document has the keys of the deployment and of the run beside each other.
struct Scenario {
  DeploymentSection deployment;
  WorkloadSection workload;
  RunSettings run;
};

/// Where a value of a scenario came from; a flag wins over a file, a file over a default.
struct Provenance {
  enum class Origin { kDefault, kFile, kFlag, kDerived };
  std::string path;  ///< "engine.max_num_seqs"
  Origin origin = Origin::kDefault;
  core::Location where = {};  ///< For files and flags.
};
[[nodiscard]] const char* name(Provenance::Origin origin);
/// The entry of an option, of which there must be one.
[[nodiscard]] const Provenance& provenance_of(const std::vector<Provenance>& provenance,
                                              std::string_view path);

/// A value given outside the file: an option's path and its text, as after a flag.
struct Override {
  std::string path;  ///< "engine.max_num_seqs", or "set" with the text
                     ///< "model.num_hidden_layers=40", or "latency.set" likewise.
  std::string text;
};

struct LoadedScenario {
  Scenario scenario;
  std::vector<Provenance> provenance;  ///< One per option, in the table's order.
  core::Warnings warnings;             ///< About how it was said; they stand before all others.

  [[nodiscard]] const Provenance& of(std::string_view path) const {
    return provenance_of(provenance, path);
  }
};

/// What a scenario is loaded for decides which parts must be there.
enum class Purpose {
  kRun,     ///< A workload is required.
  kReplay,  ///< A workload with a trace is.
  kLook,    ///< `step`, `explain`: network and GPU are enough.
  kSend,    ///< `observe`: a workload is; network and GPU are a server's, and may be unknown.
};

/// Reads a scenario document and lays the overrides over it. Every problem of both is noted:
/// unknown and duplicate keys, wrong kinds and units, values out of range, settings that would be
/// ignored beside others, and what is missing.
[[nodiscard]] core::Result<LoadedScenario> read_scenario(const document::Node& document,
                                                         const std::vector<Override>& overrides,
                                                         Purpose purpose);
/// Reads a file (YAML, or JSON by its name), or the overrides alone.
[[nodiscard]] core::Result<LoadedScenario> load_scenario(const std::optional<std::string>& file,
                                                         const std::vector<Override>& overrides,
                                                         Purpose purpose);

/// The scenario as a document, without what is not set; read back, it gives the same scenario.
[[nodiscard]] document::Node to_node(const Scenario& scenario);

}  // namespace ridgeline::scenario
