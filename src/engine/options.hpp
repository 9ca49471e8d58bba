#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/draft_level.hpp"
#include "engine/first_use.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::engine {

/// In which order requests wait, and which request gives way when blocks run out.
enum class SchedulingPolicy : std::uint8_t {
  kFcfs,      ///< First come first served; the one admitted last gives way.
  kPriority,  ///< Lowest (priority, arrival, id) first; the highest gives way.
};

/// Where draft tokens come from.
enum class DraftMethod : std::uint8_t {
  kEagle,       ///< Also multi-token prediction: reads hidden states, so the last cached block is
                ///< recomputed.
  kDraftModel,  ///< A separate network with a KV cache of its own layout.
  kNgram,       ///< From the prompt; needs no KV slots ahead.
  kBlock,       ///< All drafts of a step at once (DSpark), from hidden states that are kept as KV.
};

/// Layers that share a cache layout; every group holds a block table of its own in the one pool.
struct CacheGroup {
  core::Tokens sliding_window{0};  ///< 0: full attention.
  /// Recurrent states that prefix caching keeps at the ends of blocks: of the blocks that a step
  /// fills, the last alone holds one. The window is 2 tokens: a step reads the state before it.
  bool keeps_states = false;
  /// The window is a chunk: it begins anew at each multiple of its size.
  bool is_chunk = false;

  friend bool operator==(const CacheGroup&, const CacheGroup&) = default;
};

/// Settings of an engine that is not vLLM: a struct of the engine's own folder derives from it.
struct EngineSettings {
  EngineSettings() = default;
  EngineSettings(const EngineSettings&) = default;
  EngineSettings& operator=(const EngineSettings&) = default;
  virtual ~EngineSettings() = default;
};

/// What structured outputs take of an engine's host.
struct GrammarTimes {
  core::Duration compile;  ///< Once per distinct schema, beside everything else.
  core::Duration mask;     ///< Per request and step, and per draft that the step verifies.
};

/// The resolved limits of one engine, in vLLM's words. Nothing here is optional any more: the
/// scenario's resolution (scenario/) has filled every default.
struct EngineOptions {
  std::string scheduler = "vllm";  ///< A name of the registry (engine/schedulers.hpp).
  std::int64_t max_num_seqs = 256;
  core::Tokens max_num_batched_tokens{2048};
  core::Tokens max_num_scheduled_tokens{
      0};  ///< Tokens of the budget that requests may have; 0: all.
  core::Tokens max_model_len{4096};
  core::Tokens long_prefill_token_threshold{0};  ///< 0: off.
  core::Tokens block_size{16};
  core::Blocks num_gpu_blocks{0};  ///< Includes vLLM's null block, which is never handed out.
  /// Which blocks of windows beside full attention can be found (vLLM's key): those before the
  /// prompt's last aligned position and before junctions; above 0 also those before each multiple
  /// of it. None: all.
  std::optional<core::Tokens> prefix_cache_retention_interval = std::nullopt;
  bool enable_chunked_prefill = true;
  bool enable_prefix_caching = true;
  bool async_scheduling = true;
  /// A step waits for the host's work, as a synchronous engine's does, though the next one is
  /// scheduled ahead.
  bool waits_for_host = false;
  SchedulingPolicy policy = SchedulingPolicy::kFcfs;
  std::int64_t num_speculative_tokens = 0;  ///< Drafts per sequence and step; 0: no speculation.
  /// Drafts by the number of requests in the step before, num_speculative_tokens at most; empty:
  /// always so many.
  std::vector<domain::DraftLevel> draft_levels = {};
  DraftMethod draft_method = DraftMethod::kEagle;
  /// Several modules of multi-token prediction draft: they read the prompt's next tokens, so that
  /// no chunk ends within num_speculative_tokens of the prompt's end.
  bool drafts_read_ahead = false;
  /// Drafts from hidden states give up no block of a prefix that is found.
  bool disable_eagle_block_drop = false;
  /// Acceptance curve: the probability that the network accepts the i-th draft, given that it has
  /// accepted those before it; the last value holds for all further ones. Empty: none is accepted.
  std::vector<double> draft_acceptance = {};
  std::uint64_t acceptance_seed = 0;  ///< Seed of the draws against that curve.
  std::int64_t max_loras = 0;         ///< Distinct adapters in one step; 0: no limit.
  /// Stages of a pipeline, and so steps in flight; 0: no pipeline, 1 synchronous or 2
  /// asynchronous steps.
  std::int64_t pipeline_depth = 0;
  /// Requests that run at a time, where max_num_seqs sizes graphs alone; 0: max_num_seqs.
  std::int64_t max_num_active_seqs = 0;
  /// While some request decodes, prefills wait for the so manieth step after one with a prefill.
  std::int64_t prefill_schedule_interval = 1;
  /// long_prefill_token_threshold is at least a request's share of max_num_batched_tokens.
  bool long_prefill_token_threshold_adaptive = false;
  std::int64_t encoder_budget = 0;        ///< Embeddings of images encoded in a step; 0: no limits.
  std::int64_t encoder_cache = 0;         ///< Embeddings kept until the images have been read.
  bool disable_chunked_mm_input = false;  ///< No chunk ends inside an image.
  bool second_runner = false;             ///< vLLM's second model runner computes the steps.
  bool kv_transfer = false;               ///< Requests may bring KV that another engine computed.
  /// The engine's role in that is to take KV, perhaps to give it too: blocks may be written as soon
  /// as they are free.
  bool kv_consumer = false;
  bool kv_connector = false;  ///< KV is kept outside the GPUs: Engine::connect() is called.
  std::optional<GrammarTimes> grammars = {};  ///< Requests may have structured outputs.
  std::vector<CacheGroup> cache_groups = {CacheGroup{}};
  FirstUseStalls first_use = {};  ///< Stalls of a server that has not warmed up.
  bool log_steps = false;  ///< Report StepRecords (needed by --steps-out; totals are kept anyway).
  Profile profile;         ///< What vLLM's version does differently from others.
  std::shared_ptr<const EngineSettings> own = nullptr;  ///< Settings of an engine that is not vLLM.
};

/// Whether every layer keeps its whole context in one cache: no windows, no states.
[[nodiscard]] inline bool has_one_full_cache(const EngineOptions& options) {
  return options.cache_groups.size() == 1 && options.cache_groups.front() == CacheGroup{};
}

/// Whether freed blocks without a hash are reused before all others.
[[nodiscard]] inline bool frees_unhashed_first(const EngineOptions& options) {
  return options.profile.free_unhashed_first &&
         (options.enable_prefix_caching || options.profile.frees_uncached_first);
}

/// Whether some layers keep their whole context and others a window of it.
[[nodiscard]] inline bool mixes_windows(const std::vector<CacheGroup>& groups) {
  const auto is_window = [](const CacheGroup& group) {
    return group.sliding_window > core::Tokens(0) && !group.keeps_states;
  };
  return std::ranges::any_of(groups, is_window) &&
         std::ranges::any_of(groups, [](const CacheGroup& group) { return group == CacheGroup{}; });
}

/// Tokens that one step hands out to requests; max_num_batched_tokens counts what drafting reads
/// besides.
[[nodiscard]] constexpr core::Tokens token_budget(const EngineOptions& options) {
  return options.max_num_scheduled_tokens > core::Tokens(0) ? options.max_num_scheduled_tokens
                                                            : options.max_num_batched_tokens;
}

/// Input positions that drafting takes of each scheduled request beside its tokens: a draft model
/// reads one more, a block of drafts has a row for each but the first.
[[nodiscard]] constexpr std::int64_t draft_slots(const EngineOptions& options) {
  return options.num_speculative_tokens == 0                ? 0
         : options.draft_method == DraftMethod::kDraftModel ? 1
         : options.draft_method == DraftMethod::kBlock      ? options.num_speculative_tokens - 1
                                                            : 0;
}

/// Whether recurrent states are kept at the ends of blocks (vLLM's mamba_cache_mode "align").
[[nodiscard]] inline bool keeps_states(const EngineOptions& options) {
  return options.enable_prefix_caching &&
         std::ranges::any_of(options.cache_groups, &CacheGroup::keeps_states);
}

/// Tokens behind a block that its hash covers: those that drafting from hidden states has read by
/// the block's end. Without KV from elsewhere, whose hashes others make too.
[[nodiscard]] inline std::int64_t hash_lookahead(const EngineOptions& options) {
  const bool drafts =
      options.num_speculative_tokens > 0 && options.draft_method == DraftMethod::kEagle;
  if (!options.profile.hashes_look_ahead || !options.enable_prefix_caching || !drafts ||
      options.kv_transfer || options.kv_connector) {
    return 0;
  }
  return options.drafts_read_ahead ? options.num_speculative_tokens : 1;
}

/// Whether a request that decodes is in every so manieth step of a pipeline alone: the second
/// runner's stages pass sampled tokens on in turns.
[[nodiscard]] constexpr bool decodes_in_turns(const EngineOptions& options) {
  return options.async_scheduling && options.second_runner && options.pipeline_depth > 1;
}

/// Whether the host works while the GPU does.
[[nodiscard]] constexpr bool hides_host(const EngineOptions& options) {
  return options.async_scheduling && !options.waits_for_host;
}

/// How many steps the engine keeps in flight.
[[nodiscard]] constexpr std::int64_t steps_in_flight(const EngineOptions& options) {
  constexpr std::int64_t kAsynchronous = 2;  // One runs, the next is formed meanwhile.
  if (options.pipeline_depth > 0) {
    return options.pipeline_depth + (decodes_in_turns(options) ? 1 : 0);
  }
  return options.async_scheduling ? kAsynchronous : 1;
}

/// Client and server time around the engine; zero unless set. What real servers spend:
/// serving_constants (engine/serving.hpp).
struct RequestPath {
  core::Duration network;             ///< Client to API server, and HTTP parsing.
  core::Duration frontend;            ///< Serial work of the API server per request ...
  core::Duration frontend_per_token;  ///< ... and per prompt token.
  core::Duration handoff;             ///< The end of it, after the server has stamped the arrival.
  core::Duration emit;                ///< Engine to server's answer.
  core::Duration deliver;             ///< Server's answer to client.
  core::Duration close;               ///< Last token to end of request.

  static RequestPath off() { return {}; }

  /// From a request's last token to its end at the client; Duration::max() past the range.
  [[nodiscard]] core::Duration after_last_token() const {
    return core::Duration::saturating_sum(core::Duration::saturating_sum(emit, deliver), close);
  }
};

/// Host work of one step (scheduling, input preparation, output handling). A synchronous engine
/// adds it to the GPU's time, an asynchronous one hides it behind. Zero unless set.
struct HostTime {
  core::Duration per_step;
  core::Duration per_sequence;
  /// What the API processes together take to stream one sequence's part of a step (detokenise,
  /// write), beside everything else; a minute at most.
  core::Duration per_answer = {};

  /// Time of a step of so many sequences, with what the step-time model adds; Duration::max() where
  /// that leaves the range.
  [[nodiscard]] core::Duration of(std::int64_t sequences, core::Duration model) const {
    const core::Duration own = core::Duration::saturating_sum(
        per_step, core::Duration::saturating_product(per_sequence, sequences));
    return core::Duration::saturating_sum(model, own);
  }

  /// Until the front end has streamed a step of so many sequences: no step is shorter in the long
  /// run.
  [[nodiscard]] core::Duration front(std::int64_t sequences) const {
    return per_answer * sequences;
  }
};

/// What a step takes: the host's work is hidden behind the GPU's or not (hides_host()), the front
/// end's (HostTime::front) always.
[[nodiscard]] inline core::Duration step_period(core::Duration gpu,
                                                core::Duration cpu,
                                                core::Duration front,
                                                bool hidden) {
  return std::max(front, hidden ? std::max(gpu, cpu) : core::Duration::saturating_sum(gpu, cpu));
}

/// The host's work of a step by where it stands: what the GPU's adds to, and what is done
/// meanwhile.
struct HostWork {
  core::Duration apart;
  core::Duration beside;

  /// Work of a step that spends `mask` on grammar masks. An asynchronous engine makes them, beside
  /// its other work, while the forward pass runs: sampling waits for them, and they for the tokens
  /// of the step before. A synchronous one makes them beside the forward pass or before it, by its
  /// version. Source: EngineCore.step and step_with_batch_queue (vllm/v1/engine/core.py).
  /// `front` is HostTime::front of the step, which the whole of it runs beside.
  static HostWork of(const EngineOptions& options,
                     core::Duration cpu,
                     core::Duration mask,
                     core::Duration front) {
    const core::Duration both = core::Duration::saturating_sum(cpu, mask);
    if (hides_host(options)) {
      return {.apart = {}, .beside = std::max(both, front)};
    }
    HostWork work = options.profile.masks_beside_forward ? HostWork{.apart = cpu, .beside = mask}
                                                         : HostWork{.apart = both, .beside = {}};
    work.beside = std::max(work.beside, front - std::min(front, work.apart));
    return work;
  }

  /// What the step takes.
  [[nodiscard]] core::Duration period(core::Duration gpu) const {
    return core::Duration::saturating_sum(apart, std::max(gpu, beside));
  }
};

}  // namespace ridgeline::engine
