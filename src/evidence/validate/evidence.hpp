#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/staged_source.hpp"
#include "workload/item_stream.hpp"

/// A measurement of a real server, in the words of ../groundtruth's records: everything that a
/// prediction needs, and what it is compared with.
namespace ridgeline::evidence::validate {

/// What is compared. Times are in milliseconds, throughput in output tokens per second, power in
/// watts of one GPU, energy in joules of all GPUs per output token. From kLoadWeights on, what the
/// log of a server's start says, in the units that the names end in (start_up.hpp).
enum class Figure : std::uint8_t {
  kE2e,
  kTtft,
  kTpot,
  kItl,
  kKvTransfer,  ///< A prompt's KV to the decode instance, its set-up included; a mean only.
  // From kServerE2e to kDecode: by the server's own spans, beside a client's times.
  kServerE2e,
  kServerTtft,
  kServerItl,  ///< Prefill and decode times of all requests by their output tokens; a mean only.
  kQueue,
  kPrefill,  ///< From first scheduled to the first token.
  kDecode,   ///< From there to the last token.
  kOutputThroughput,
  kPower,
  kEnergy,
  kLoadWeights,
  kModelLoad,
  kProfileRun,
  kTorchCompile,
  kGraphCapture,
  kInitEngine,
  kReady,
  kReadyButWeights,
  kModelMemory,
  kKvMemory,
  kKvTokens,
  kGraphMemory
};
inline constexpr std::size_t kNumFigures = 26;
inline constexpr std::array<const char*, kNumFigures> kFigureNames = {"e2e",
                                                                      "ttft",
                                                                      "tpot",
                                                                      "itl",
                                                                      "kv_transfer",
                                                                      "server_e2e",
                                                                      "server_ttft",
                                                                      "server_itl",
                                                                      "queue",
                                                                      "prefill",
                                                                      "decode",
                                                                      "output_throughput",
                                                                      "watts_per_gpu",
                                                                      "joules_per_output_token",
                                                                      "load_weights_s",
                                                                      "model_load_s",
                                                                      "profile_run_s",
                                                                      "torch_compile_s",
                                                                      "graph_capture_s",
                                                                      "init_engine_s",
                                                                      "log_start_to_ready_s",
                                                                      "ready_but_weights_s",
                                                                      "model_gib_per_gpu",
                                                                      "kv_gib",
                                                                      "kv_cache_tokens",
                                                                      "graph_gib"};
/// Every other figure has a mean only.
[[nodiscard]] constexpr bool is_time(Figure figure) {
  return figure < Figure::kOutputThroughput;
}

/// A time by the server's own spans, where the record's other times are a client's.
[[nodiscard]] constexpr bool is_of_server(Figure figure) {
  return figure >= Figure::kServerE2e && figure <= Figure::kDecode;
}

/// A figure of a server's start, not of requests.
[[nodiscard]] constexpr bool is_of_start(Figure figure) {
  return figure >= Figure::kLoadWeights;
}

/// Which number of its distribution; what is no time has a mean only.
enum class Level : std::uint8_t { kMean, kP50, kP90, kP99 };
inline constexpr std::size_t kNumLevels = 4;
inline constexpr std::array<const char*, kNumLevels> kLevelNames = {"mean", "p50", "p90", "p99"};

struct Figures {
  std::array<std::array<std::optional<double>, kNumLevels>, kNumFigures> values{};

  [[nodiscard]] std::optional<double>& at(Figure figure, Level level) {
    return values[static_cast<std::size_t>(figure)][static_cast<std::size_t>(level)];
  }
  [[nodiscard]] const std::optional<double>& at(Figure figure, Level level) const {
    return values[static_cast<std::size_t>(figure)][static_cast<std::size_t>(level)];
  }
  [[nodiscard]] bool empty() const;

  friend bool operator==(const Figures&, const Figures&) = default;
};

/// How the stage of a record begins that has a server's first requests alone: "first300".
inline constexpr std::string_view kFirstRequests = "first";

/// How many tokens a prompt or an answer has.
struct TokenCounts {
  enum class Law : std::uint8_t { kFixed, kUniform, kNormal, kLogNormal, kHistogram };
  Law law = Law::kFixed;
  double mean = 0.0;
  double std = 0.0;     ///< kNormal; kLogNormal: of the logarithm.
  double lowest = 0.0;  ///< But kFixed.
  double highest = 0.0;
  /// kHistogram: share of the counts in the bins up to each, which are equally wide.
  std::vector<double> up_to = {};

  friend bool operator==(const TokenCounts&, const TokenCounts&) = default;
};

/// What prompts have in common.
struct PromptSharing {
  std::int64_t distinct_prompts = 0;   ///< Request n sends prompt n mod this; 0: all differ.
  std::int64_t prompts_per_group = 1;  ///< So many begin with the same system prompt ...
  double system_share = 0.0;           ///< ... which is this share of a prompt's tokens.
  std::int64_t shared_prefix = 0;  ///< Tokens that all prompts begin with, part of their length.

  friend bool operator==(const PromptSharing&, const PromptSharing&) = default;
};

/// One stretch of load.
struct StageLoad {
  enum class Kind : std::uint8_t {
    kRandom,   ///< `requests` uniformly random instants: a Poisson process given its count.
    kEven,     ///< Evenly spaced.
    kAtOnce,   ///< All at its start.
    kClosed,   ///< `concurrency` in flight.
    kRecorded  ///< `rows`, at their own instants.
  };
  struct Row {
    double arrival_s = 0.0;
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
  };
  Kind kind = Kind::kRandom;
  std::string name;
  double duration_s = 0.0;
  std::int64_t requests = 0;
  std::int64_t concurrency = 0;
  std::vector<Row> rows;  ///< kRecorded; of other kinds their lengths, where known.
  /// In place of all these: the requests as every verb reads them from the client's file, with the
  /// turns of sessions and what prompts share.
  std::shared_ptr<const workload::ItemList> items = {};
};

struct ServerFacts {
  std::optional<std::int64_t> max_model_len;
  std::optional<std::int64_t> max_num_seqs;
  std::optional<std::int64_t> max_num_batched_tokens;
  std::optional<double> gpu_memory_utilization;
  std::optional<std::int64_t> block_size;
  std::optional<std::int64_t> num_gpu_blocks;
  std::optional<bool> prefix_caching;
  std::optional<bool> chunked_prefill;
  std::optional<bool> async_scheduling;
  std::optional<bool> enforce_eager;
  std::optional<std::string> kv_cache_dtype;
  /// The record names the script that started the server: its publisher's recipe holds.
  bool names_script = false;
  /// What else the record says of its server that its engine has a setting for, by the setting's
  /// name: "max_cudagraph_capture_size", "2048".
  std::vector<std::pair<std::string, std::string>> settings;

  friend bool operator==(const ServerFacts&, const ServerFacts&) = default;
};

/// Several instances that serve as one system.
struct Fleet {
  std::string policy;  ///< What chooses among them, as the record names it.
  /// What the reader of the record knows of the fleet's load besides Evidence::stages; may be null.
  std::shared_ptr<FleetLoad> load = {};
};

/// What another simulator said of the same run.
struct PeerPrediction {
  std::string name;
  Figures figures;
};

/// One measured run, stage or sweep point.
struct Evidence {
  std::string file;
  std::int64_t line = 0;  ///< Line in the file, from 1; 0: the whole file.
  std::string id;
  std::string family;
  std::string run;  ///< Records of one run share a server: stages of it are warm.
  std::string stage;
  std::string workload;  ///< "codegen".
  std::string strategy;  ///< How load is made: "poisson", "constant", "closed", "synchronous", ...
  std::string model;
  std::string gpu;
  std::string usual_gpu = {};  ///< Taken where neither the record nor a what-if names a GPU.
  std::int64_t tensor_parallel = 1;
  std::int64_t pipeline_parallel = 1;
  std::int64_t data_parallel = 1;
  std::int64_t expert_parallel = 1;
  std::int64_t num_gpus = 0;  ///< GPUs of the whole system; 0: not stated.
  bool knows_ranks = true;    ///< False: tensor_parallel is the fewest that hold the network.
  /// Alike instances (or data-parallel ranks of a dense network) that share the load evenly; one is
  /// simulated.
  std::int64_t replicas = 1;
  std::string precision;
  std::string weight_quantisation;  ///< "fp8", "nvfp4", ...; empty: the network's own.
  std::string engine;
  std::string engine_version;  ///< As an option of the scenario: "vllm@0.15".
  std::string stated_version;  ///< As the record has it: "1.2.0rc6.post2".
  bool old_engine = false;     ///< Older than any that is simulated: its times are another's.
  std::string date;            ///< When it was measured, "2026-03-25"; empty: not said.
  std::string generator;       ///< The load generator, as the record names it.
  ServerFacts server;
  std::vector<StageLoad> stages;  ///< That this record covers, in order.
  TokenCounts input;
  TokenCounts output;
  PromptSharing sharing;
  bool closed_loop = false;
  std::optional<Fleet> fleet =
      {};                         ///< Nothing: one instance, or several that share the load evenly.
  double stamps_per_token = 1.0;  ///< Times that the client noted for each token of an answer.
  /// How its clients are paced is not published, or its lengths are guesses: it is scored, and in
  /// no error band of times and rates.
  bool guessed_load = false;
  bool is_start = false;      ///< A record of a server's start: there are no requests.
  bool steady_state = false;  ///< Measured while clients still sent requests, without the end.
  bool server_clock = false;  ///< Measured in the server, not at the client.
  /// Where the client stops its clock: at the last token, or when the server closes the stream.
  bool e2e_to_last_token = false;
  bool tpot_to_last_token = false;
  bool itl_of_server = false;  ///< Its itl is what kServerItl is.
  /// What its server sampled with, as engine.generation_config says it; nothing: what the generator
  /// is known for, else the network's own.
  std::optional<std::string> generation_config;
  bool tells_server = true;  ///< Whether the file describes its server; a client's result does not.
  Figures measured;
  /// Completed requests by the run's duration, from its first request to its last answer.
  std::optional<double> request_throughput;
  std::optional<double> completed_per_s;  ///< The rate that the server kept up (note_throughput()).
  std::optional<double> offered_per_s;
  /// What the record says of its server by paths of a scenario ("engine.max_num_seqs", "64"); wins
  /// over what is derived, and what-ifs win over it.
  std::vector<std::pair<std::string, std::string>> stated = {};
  std::string unsound = {};  ///< Why its times are not to be trusted; empty: nothing speaks so.
  /// Why its times cannot be of the load that it states (sweeps.hpp); empty: nothing speaks so.
  std::string contradicted = {};
  std::vector<PeerPrediction> peers;
  std::vector<std::string> flags;
  std::vector<std::string> sources =
      {};                             ///< What was read from which file, where there are several.
  std::vector<std::string> assumed;   ///< What the record leaves open, and what was taken for it.
  std::vector<std::string> left_out;  ///< Rows of its requests that cannot be read: which, and why.
  /// What else of the file is not used, or contradicts itself.
  std::vector<std::string> doubts;
  core::Warnings warnings = {};  ///< Warnings of the reader of its load.
  std::string problem;           ///< Why there is nothing to predict; empty when sound.
  std::string refusal = {};      ///< Why it is not simulated, though it can be read: a fleet, say.
};

}  // namespace ridgeline::evidence::validate
