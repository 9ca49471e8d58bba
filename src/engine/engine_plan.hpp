#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/parameter.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::engine {

/// How an engine drafts tokens, and how many of them are accepted.
struct DraftSettings {
  std::string method;         ///< vLLM's word: "ngram", "draft_model", "eagle", "eagle3" or "mtp".
  std::string model = {};     ///< The drafting network, of "draft_model" and "eagle".
  std::int64_t steps = 1;     ///< Drafts that can be accepted one behind another.
  std::int64_t branches = 1;  ///< In the tree of drafts.
  std::int64_t verified = 2;  ///< Tokens that a step verifies of a request.
  std::vector<double> acceptance = {};  ///< EngineOptions::draft_acceptance.
};

/// What is known of a deployment when an engine that is not vLLM divides its memory.
struct PlanInputs {
  const model::ModelSpec& network;
  const hardware::GpuSpec& gpu;
  model::Sharding sharding;
  std::string_view version;    ///< A name of OwnSettings::versions.
  core::Tokens max_model_len;  ///< The stated length, else the network's; at most the network's.
  bool enforce_eager = false;
  std::int64_t num_speculative_tokens = 0;  ///< Drafts per sequence and step; 0: no speculation.
  const DraftSettings* drafts = nullptr;    ///< How it drafts; or none.
  const model::ModelSpec* draft = nullptr;  ///< A drafting network, and how it is cut; or none.
  model::Sharding draft_sharding = {};
  document::ParameterValues settings;
};

/// One line of a memory plan, for people and for results.
struct MemoryLine {
  std::string_view key;    ///< "weights"; in JSON with _gib behind it.
  std::string_view label;  ///< "- weights"
  core::Bytes bytes;
  std::string note = {};
};

/// An engine's limits and settings, with all that its defaults derive.
struct EnginePlan {
  EngineOptions options;  ///< But for the drafts, the seed and the log.
  /// `usable`, `weights`, `kv_cache`, `block_size`, `block`, `num_gpu_blocks` and `layouts` of it.
  /// num_gpu_blocks counts one block more than hold tokens, as vLLM's null block.
  MemoryPlan memory;
  std::vector<MemoryLine> lines;              ///< How the memory is divided, in order.
  std::vector<document::NamedValue> derived;  ///< Settings whose default is derived.
  std::vector<std::int64_t> cuda_graph_sizes;
  core::Warnings warnings;
};

/// A version profile of an engine.
struct EngineVersion {
  std::string_view name;     ///< "0.5.5", "main".
  std::string_view since;    ///< The first version with its rules: "0.5.15".
  std::string_view summary;  ///< What it does differently.
};

/// A setting of an engine and vLLM's for the same purpose.
struct Counterpart {
  std::string_view own;
  std::string_view vllm;
};

/// Data-parallel ranks of an engine's attention, and the GPUs that each is cut over.
struct AttentionRanks {
  std::int64_t ranks = 1;
  std::int64_t gpus_each = 1;
};

/// What an engine's server calls a number of our results.
struct MetricName {
  std::string_view own;   ///< "sglang:num_retracted_requests_total"
  std::string_view ours;  ///< "preemptions": a path in the summary.
  double factor = 1.0;    ///< Factor from our real numbers to its unit.
};

/// How an engine other than vLLM is configured: by settings of its own, which are keys of the
/// scenario's section `engine` and flags.
struct OwnSettings {
  std::span<const EngineVersion> versions;  ///< Oldest first; the last is the default.
  std::span<const document::Parameter> settings;
  std::span<const Counterpart> counterparts;
  /// Fills every default, or says what the engine's server refuses. Errors name the setting as the
  /// scenario does: "engine.page_size".
  core::Result<EnginePlan> (*plan)(const PlanInputs& inputs);
  /// The ranks that it makes of the sizes stated, where its attention is in data parallel: an
  /// engine counts all GPUs in tensor_parallel_size. An error where they do not divide.
  core::Result<AttentionRanks> (*attention_ranks)(const document::ParameterValues& settings,
                                                  std::int64_t tensor_parallel_size,
                                                  std::int64_t data_parallel_size);
  /// The routing policy by which these ranks get requests.
  std::string_view (*rank_router)(const document::ParameterValues& settings);
  std::span<const MetricName> metrics;
  /// What its own settings say of drafts; nothing where they ask for none. Absent: it has no such
  /// settings, and takes vLLM's speculative_config alone.
  core::Result<std::optional<DraftSettings>> (*drafts)(const document::ParameterValues& settings,
                                                       const model::ModelSpec& network) = nullptr;
  bool has_legs = false;  ///< Prefill and decode run on servers of their own.
};

/// What a setting without a derived default needs to have an effect.
struct Need {
  std::string_view setting;
  std::string_view needs;
  bool is_met = false;
};
/// The settings stated with another value than their default that have no effect.
[[nodiscard]] core::Errors without_effect(const PlanInputs& in,
                                          const OwnSettings& own,
                                          std::span<const Need> needs);

}  // namespace ridgeline::engine
