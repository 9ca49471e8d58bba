#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine::sglang {

/// In which order waiting requests are tried (`schedule_policy`).
enum class SchedulePolicy : std::uint8_t {
  kFcfs,       ///< The order of the list.
  kLpm,        ///< Longest cached prefix first.
  kDfsWeight,  ///< Along the radix tree, the branches with most waiting requests first.
  kLof,        ///< Longest max_new_tokens first.
  kHrrn,       ///< Highest response ratio first: (waited + to compute) / to compute, in tokens.
  kRandom,     ///< A shuffle; SGLang's own draws are not reproducible, these are seeded.
};

/// Which cached leaf is evicted first (`radix_eviction_policy`).
enum class EvictionPolicy : std::uint8_t {
  kLru,       ///< Least recently used.
  kLfu,       ///< Least often inserted, then least recently used.
  kFifo,      ///< Oldest.
  kMru,       ///< Most recently used.
  kFilo,      ///< Youngest.
  kSlru,      ///< Those inserted once before the others, each least recently used first.
  kPriority,  ///< Lowest priority of its requests, then least recently used.
};

/// Victims when a decode step finds no room (`retraction_policy`).
enum class RetractionPolicy : std::uint8_t {
  kLength,    ///< Fewest outputs, among them the longest prompt.
  kPriority,  ///< Worst priority first, then as above.
};

/// When the tree's KV is copied to the host's pool (`hicache_write_policy`).
enum class HostWrites : std::uint8_t {
  kThrough,           ///< As soon as it is in the tree.
  kThroughSelective,  ///< Once a second request has it.
  kBack,              ///< As it is evicted.
};

/// A pool in the host's memory behind the GPU's (HiCache).
struct HostTier {
  std::int64_t tokens = 0;  ///< 0: there is none.
  HostWrites writes = HostWrites::kThrough;
  std::int64_t states = 0;            ///< Slots of recurrent states.
  core::Duration per_token = {};      ///< What a token takes to come back,
  core::Duration per_state = {};      ///< and what a state does.
  std::int64_t write_iterations = 1;  ///< Iterations until a copy has ended.
  std::int64_t load_iterations = 1;
};

/// What becomes of the KV of a request that a decode server takes back
/// (`disaggregation_decode_retraction_backup`).
enum class RetractionBackup : std::uint8_t {
  kHostPool,   ///< It goes to a pool of the host; where that is full, the request ends.
  kCpuTensor,  ///< It goes to the host, whatever there is of it.
  kNone,       ///< The request ends.
};

/// What distinguishes one version from another (settings.cpp has a row for each switch). Source:
/// managers/schedule_policy.py, schedule_batch.py and scheduler.py of 0.5.5 (0c006b880), of main
/// (8905cbd42f, after 0.5.15) and of the wheels 0.5.15 to 0.5.23.
struct Rules {
  /// Admission keeps a page for every admitted request on top of its tokens.
  bool reserves_page = true;
  /// Once something was added, a prompt must stay below max_prefill_tokens also where chunks are
  /// cut.
  bool bounds_input_with_chunks = false;
  /// The KV of the step that runs past a request's end enters the tree; else its slot is freed.
  bool keeps_delayed_token = true;
  /// Preemption stops when enough tokens are freed; else all candidates go, and what the new
  /// request itself may still generate is refunded for each.
  bool preempts_as_needed = true;
  /// Any empty iteration resets new_token_ratio; else only one in which nothing waits or runs.
  bool resets_ratio_when_empty = false;
  /// max_new_tokens is clipped to what the pool can hold as well.
  bool clips_to_pool = true;
  /// retraction_policy exists.
  bool has_retraction_policy = true;
  /// An eviction frees what is missing; else as much as is asked for.
  bool evicts_shortfall = false;
  /// prefill_decode_interval exists.
  bool has_prefill_decode_interval = false;
  /// hrrn exists.
  bool has_hrrn = false;
  /// Outputs of an ended request are a node apart from its prompt, which ranks one priority higher.
  bool parts_outputs = false;
  /// With overlap, a request whose last permitted token is in flight is in no further step; and
  /// where the others find no room, they wait for what it frees.
  bool skips_last_token = false;
  /// A full pool stops prefills only while something runs or was admitted beside it.
  bool blocks_beside_others = false;
  /// Running requests that ignore the end of sequence are expected to generate all they may.
  bool trusts_ignore_eos = false;
  /// A pass ends before a request for which its budgets are used up, and tests the pool once, with
  /// what the request found locked.
  bool tests_pool_once = false;
  /// Recurrent states have an order of eviction of their own, and what is left without any stays in
  /// the tree; else states are evicted ahead for each prefill.
  bool keeps_states_apart = false;
  /// A decode server counts prompts in whole pages.
  bool preallocates_pages = false;
  /// Victims are sorted with speculation too; else the last of the batch goes first.
  bool sorts_with_drafts = false;
  /// Slots ahead of a request's KV end with a page, and of what is accepted behind a request's end
  /// nothing enters the tree.
  bool trims_drafts = false;
  /// Mixed steps exist with speculation.
  bool mixes_with_drafts = false;
  /// Every 32nd pass touches what the first 128 waiting requests find in the tree.
  bool refreshes_waiting = false;
  /// Ended requests leave the running batch in every iteration; else before a decode step.
  bool filters_each_iteration = false;
  /// A decode server keeps KV of requests that it took back in a pool of the host.
  bool has_retraction_pool = false;
  /// Pages are as the attention's kernel has them, and graphs of prefills have a reserve.
  bool sizes_by_kernel = false;
  /// GPUs of 20 to 35 GiB have larger defaults.
  bool takes_more_below_35 = false;
  /// Decode graphs go no further than a stated max_running_requests.
  bool graphs_follow_limit = false;

  friend bool operator==(const Rules&, const Rules&) = default;
};

/// Drafts of a decode step (`speculative_algorithm`).
struct Speculation {
  std::int64_t steps = 0;         ///< Drafts that can be accepted one behind the other; 0: none.
  std::int64_t topk = 1;          ///< Branches of the tree of drafts.
  std::int64_t draft_tokens = 1;  ///< Tokens that a step verifies of each request.
  bool keys_pairs = false;        ///< The radix tree knows pairs of tokens: EAGLE and its kind.
  bool has_draft_kv = true;       ///< A network drafts: not NGRAM.

  [[nodiscard]] bool is_on() const { return steps > 0; }
  /// Slots that a request is given ahead of its KV that is final: twice what one step may need
  /// (get_alloc_reserve_per_decode of managers/schedule_batch.py).
  [[nodiscard]] std::int64_t reserve(std::int64_t page_size) const {
    std::int64_t branch = steps;
    if (page_size > 1 && topk > 1 && has_draft_kv) {  // Each branch begins a page of its own.
      branch = (page_size - 1 + steps + page_size - 1) / page_size * page_size;
    }
    return 2 * std::max(branch * topk, draft_tokens);
  }
};

/// SGLang's settings by its own names (`python -m sglang.launch_server --help`), resolved.
struct Options final : EngineSettings {
  Rules rules;
  std::int64_t max_total_num_tokens = 0;  ///< Tokens of the KV pool, in whole pages.
  std::int64_t page_size = 1;
  std::int64_t context_length = 4096;
  std::int64_t max_running_requests = 2048;
  std::int64_t max_prefill_tokens = 16'384;
  std::int64_t chunked_prefill_size = 0;  ///< 0: prompts are not cut.
  SchedulePolicy schedule_policy = SchedulePolicy::kFcfs;
  double schedule_conservativeness = 1.0;
  bool disable_radix_cache = false;
  EvictionPolicy radix_eviction_policy = EvictionPolicy::kLru;
  bool enable_mixed_chunk = false;
  bool overlap = true;  ///< Not disable_overlap_schedule.
  std::int64_t scheduler_recv_interval = 1;
  std::int64_t prefill_max_requests = 0;  ///< 0: no limit.
  bool enable_priority_scheduling = false;
  bool schedule_low_priority_values_first = false;
  std::int64_t priority_scheduling_preemption_threshold = 10;
  bool disable_priority_preemption = false;
  RetractionPolicy retraction_policy = RetractionPolicy::kLength;
  std::int64_t prefill_decode_interval = 0;  ///< Iterations after a prefill that try no other.
  std::int64_t prefill_decode_interval_min_bs = 0;  ///< Fewer running requests: no such iterations.
  Speculation speculation;
  HostTier host;
  std::int64_t state_slots = 0;  ///< For recurrent states, also in the tree; 0: no states.
  /// Slots of a running request for states on its way (extra_buffer): the tree gets those at
  /// multiples of a grid. 0: it gets a copy at each end of a prefill (no_buffer).
  std::int64_t state_buffers = 0;
  std::int64_t most_states_per_path = -1;         ///< In the tree; below 0: any number.
  std::int64_t state_grid = 64;                   ///< In tokens that a prefill step computes.
  std::int64_t state_track = 256;                 ///< In tokens of a request that decodes.
  std::int64_t num_reserved_decode_tokens = 512;  ///< Kept for each request of a decode server.
  RetractionBackup retraction_backup = RetractionBackup::kHostPool;
  std::int64_t min_free_slots_delay = 0;  ///< Seats that must be free for new prompts; 0: any.

  // Environment variables: SGLANG_INIT_NEW_TOKEN_RATIO, SGLANG_MIN_NEW_TOKEN_RATIO_FACTOR,
  // SGLANG_NEW_TOKEN_RATIO_DECAY_STEPS, SGLANG_RETRACT_DECODE_STEPS,
  // SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION, IN_BATCH_PREFIX_CACHING_CHECK_THRESHOLD and
  // IN_BATCH_PREFIX_CACHING_DEPRIORITIZE_THRESHOLD.
  double init_new_token_ratio = 0.7;
  double min_new_token_ratio_factor = 0.14;
  std::int64_t new_token_ratio_decay_steps = 600;
  std::int64_t retract_decode_steps = 20;
  std::int64_t clip_max_new_tokens = 4096;
  std::int64_t in_batch_check_threshold = 32;
  std::int64_t in_batch_deprioritize_threshold = 32;

  /// Requests are ordered by priority and may take the place of running ones.
  [[nodiscard]] bool preempts() const {
    return enable_priority_scheduling && !disable_priority_preemption;
  }
};

/// The settings that EngineOptions::own points to. Requires options of SGLang.
[[nodiscard]] const Options& settings_of(const EngineOptions& options);

}  // namespace ridgeline::engine::sglang
