#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/draft_level.hpp"

namespace ridgeline::engine {

/// Which token counts have a captured CUDA graph (vLLM's compilation config).
enum class GraphSizes : std::uint8_t {
  kStep8To512,   ///< 1, 2, 4, 8, 16, 24 ... 512 whatever the batch limit (up to 0.8).
  kStep8,        ///< 1, 2, 4, then every 8th up to min(2 * max_num_seqs, 512) (0.9 to 0.11).
  kStep8Then16,  ///< 1, 2, 4, every 8th to 256, every 16th above, same top (from 0.13).
};

/// The rules of captured CUDA graphs among a version's switches.
struct GraphRules {
  GraphSizes graph_sizes = GraphSizes::kStep8Then16;
  /// Graphs hold steps of decodes whole; without, all are in pieces around the attention (until
  /// 2025-09-23, 24fab45d96).
  bool whole_graphs = true;
  /// The largest graph leaves room for every sequence's drafts (from 2025-12-10, #30330).
  bool graphs_count_drafts = true;
  /// The token budget itself has a graph where it is below the top (from 2026-04-28, #40734).
  bool graphs_include_budget = false;
  /// With drafts, decodes of the usual numbers of sequences have graphs of their own (from 0.29).
  bool graphs_include_decodes = false;
  /// Without drafts, max_num_seqs itself has a graph (from 0.31).
  bool graphs_include_sequences = false;
  /// gpt-oss captures graphs to 1024 tokens on every GPU.
  bool larger_graphs_of_gpt_oss = false;
  /// Data-centre Blackwell captures graphs to 1024 tokens (from 2026-08-07, #49390).
  bool larger_graphs_on_blackwell = false;

  friend bool operator==(const GraphRules&, const GraphRules&) = default;
};

/// The rules of drafts.
struct DraftRules {
  /// KV slots for drafts are reserved from the first chunk of a prompt on. Without, a request that
  /// begins at token 0 gets none at its admission.
  bool lookahead_from_first_chunk = false;
  /// A draft model of its own takes one input position per scheduled request out of
  /// max_num_batched_tokens.
  bool drafts_take_input_slots = false;
  /// It takes those of max_num_seqs requests out of every step's tokens.
  bool drafts_lower_budget = false;
  /// The number of drafts may follow the number of scheduled requests (from 2026-06-14, #32374).
  bool has_draft_levels = false;
  /// Tokens less all drafts of the request are entered into the prefix cache, though some of the
  /// drafts may not be scheduled. Without, all tokens that are known.
  bool hashes_less_all_drafts = false;
  /// A preempted request keeps its drafts, which are verified when a later chunk of it reaches its
  /// last token (vLLM before 2026-01-08, #31944).
  bool keeps_drafts_of_preempted = false;
  /// Drafting from hidden states gives up the last block found once per kind of cache layout, not
  /// once in all.
  bool draft_drops_block_per_layout = true;
  /// A block's hash covers the tokens behind it that drafting reads, and no block is given up.
  bool hashes_look_ahead = false;
  /// With drafts, tokens of steps that have ended are entered into the prefix cache as they end.
  bool caches_ended_steps = false;
  /// Nothing is drafted behind a step that no request could use drafts of, in the second runner.
  bool skips_unused_drafts = false;
  /// A request that needs one token joins a decode batch padded to the drafts' length.
  bool pads_single_tokens_to_drafts = false;
  /// Where the padding would pass max_model_len it is left out; without, admission ends.
  bool pads_within_model_len = false;
  /// Where the padding would pass the end of a state's block it is left out too.
  bool pads_within_states = false;
  /// A request with computed tokens is padded also where nothing runs.
  bool pads_beside_nothing = false;
  /// Beside drafts that give up a block, what a prompt of whole blocks needs to be extended stays
  /// findable too, not only what it needs to be sent again.
  bool keeps_blocks_to_extend = false;
  /// With several modules of multi-token prediction no chunk ends just before the prompt's end.
  bool spares_prompt_end = false;

  friend bool operator==(const DraftRules&, const DraftRules&) = default;
};

/// The rules of KV that comes from elsewhere.
struct LoadRules {
  /// KV that arrived from another engine counts in whole blocks, the last one's end included.
  bool remote_rounds_up_to_blocks = false;
  /// A request that loads KV from another engine leaves the blocks that running prefills still
  /// need.
  bool remote_load_spares_prefills = false;
  /// Such a load also leaves what each of those prefills, and it, needs for a step with drafts;
  bool load_spares_draft_steps = false;
  /// that is counted with the prefill's tokens, not in blocks of its own.
  bool draft_steps_share_blocks = false;
  /// A request aborted while its KV is on the way keeps its blocks until the KV has arrived.
  bool remote_abort_waits_for_load = false;
  /// Blocks that a step in flight may write come back when it has ended, where KV is taken in.
  bool defers_frees = false;
  /// A request whose blocks would not come back at once is no victim: the running pass ends.
  bool spares_deferred_victims = false;
  /// Requests that hold KV, loaded or on its way, have a queue of their own, served first; others
  /// that are passed over go back to the head of theirs.
  bool has_kv_queue = false;
  /// A chunk of the host's memory is stored by how often it was offered, not looked up.
  bool counts_offered_chunks = false;
  /// ARC takes from either list what may give way.
  bool arc_gives_up_either = false;
  /// A request uses the chunks of the host's memory once, as it ends: tails give way before heads.
  bool chunks_follow_requests = false;
  /// They are ranked so from their first use on, and offered anew at each admission.
  bool ranks_running_chunks = false;
  /// Where new requests are kept out, those that hold KV are admitted all the same.
  bool admits_loaded_when_paused = false;

  friend bool operator==(const LoadRules&, const LoadRules&) = default;
};

/// The rules of images in prompts, and of streaming sessions.
struct InputRules {
  /// Chunks end at states before the encoder's limits cut them.
  bool aligns_before_images = false;
  /// An image that only drafting reads is encoded too.
  bool encodes_read_ahead = false;
  /// A request holds an image until it has read the last place of it.
  bool keeps_repeated_images = false;
  /// It also holds those places whose image is encoded in the same step.
  bool holds_images_at_once = false;
  /// disable_chunked_mm_input binds images that are in the cache.
  bool keeps_cached_images_whole = false;
  /// It binds a chunk that begins where the image does.
  bool keeps_first_images_whole = false;
  /// A chunk may end just before an image that has no room, and an image that was read is given up,
  /// whatever drafting reads ahead.
  bool ignores_read_ahead_of_images = false;
  /// A waiting request whose image has no room is passed over; without, it ends admission.
  bool passes_over_images = false;
  /// When a session's turn ends, its steps in flight are dropped, and the next input's max_tokens
  /// hold.
  bool drops_steps_of_turn = false;
  /// The hashes of blocks behind what it keeps are dropped.
  bool drops_hashes_of_turn = false;
  /// It keeps all tokens but the last, not those computed.
  bool keeps_tokens_of_turn = false;

  friend bool operator==(const InputRules&, const InputRules&) = default;
};

/// What distinguishes one engine version from another, as named switches: the step loop asks these
/// and knows no version number. Source: vLLM's history as set out in docs/internals/engine.md.
struct Profile : GraphRules, DraftRules, LoadRules, InputRules {
  std::string name = "vllm@0.15";
  /// A waiting request is admitted only if all its tokens' blocks fit now
  /// (scheduler_reserve_full_isl).
  bool reserve_full_prompt = false;
  /// A freed block without a hash goes to the head of the free list, not to its tail.
  bool free_unhashed_first = false;
  /// Also without prefix caching, where no block has a hash.
  bool frees_uncached_first = false;
  /// Share of blocks kept free when admitting while others run.
  double watermark = 0.0;
  /// The watermark exists.
  bool has_watermark = false;
  /// Asynchronous scheduling is the default.
  bool async_by_default = true;
  /// Asynchronous scheduling does not schedule a request whose last permitted token is already in
  /// flight.
  bool async_skips_last_token = true;
  /// Prefix statistics count each lookup, also of a request that is then not admitted.
  bool prefix_stats_per_lookup = true;
  /// Prefix statistics keep re-admissions after preemption apart.
  bool prefix_stats_split_preempted = true;
  /// Preemptions are counted and reported.
  bool counts_preemptions = true;
  /// Prefix statistics count blocks instead of tokens.
  bool prefix_stats_in_blocks = false;
  /// Priority scheduling exists; without it the policy is ignored.
  bool has_priority_policy = true;
  /// A victim that was scheduled in the same step gives its tokens back to the budget and leaves
  /// the step. Without, it stays in the step, whose tokens then count as computed although its
  /// blocks are gone.
  bool victim_returns_budget = true;
  /// The running pass steps back for any victim that stood before the request it serves, not only
  /// for one that was scheduled in the same step.
  bool cursor_follows_every_victim = false;
  /// Where a request gives way to itself, those behind it are served all the same.
  bool serves_behind_self_preemption = false;
  /// Results of steps in flight reach running requests only; what a preempted one sampled is lost.
  bool updates_running_only = false;
  /// A prompt that is not to be cut and exceeds the budget ends the pass; else it is passed over.
  bool whole_prompt_blocks_queue = true;
  /// The setting that prompts are not to be cut is ignored.
  bool ignores_whole_prompt = false;
  /// Requests passed over (adapters, remote KV) keep a queue of their own, served first.
  bool has_skipped_queue = false;
  /// Requests passed over go back to the head of the queue in reverse order.
  bool reverses_passed_over = false;
  /// The mask of a grammar is made while the forward pass runs, and asynchronous scheduling takes
  /// structured outputs (vLLM from the end of 2025 on, #26866; from memory, not looked up).
  /// Without, it is made before the forward pass, and asynchronous scheduling takes none.
  bool masks_beside_forward = true;
  /// long_prefill_token_threshold does not bind where there is one request.
  bool leaves_single_prefill_whole = false;
  /// max_num_active_seqs and long_prefill_token_threshold_adaptive exist.
  bool has_active_limit = false;
  /// prefill_schedule_interval holds prefills back on an engine by itself.
  bool holds_prefills = false;
  /// The adapters of all running requests count against the cap, not of those in the step alone.
  bool caps_adapters_of_running = false;
  /// A request may compute up to max_model_len - 1 tokens, not max_model_len.
  bool keeps_last_position_free = true;
  /// A preempted request waits until every step in flight that holds it has ended.
  bool waits_for_stale_steps = false;
  /// Tokens of steps in flight keep a sliding window's blocks.
  bool windows_keep_steps_in_flight = false;
  /// At admission a sliding window asks for no more blocks than it can ever hold at a time.
  bool caps_windows_at_admission = false;
  /// Without prefix caching a request's blocks are freed first to last.
  bool frees_uncached_in_order = false;
  /// The default sampler sorts the vocabulary (PyTorch), which takes memory in the profile run:
  /// until 0.16. From 0.17 on a Triton kernel finds the cut, from 0.21 on FlashInfer's by default
  /// (`topk_topp_sampler.py`).
  bool sorts_to_sample = true;
  /// That Triton kernel, whose buffer is a row of the vocabulary per SM, runs in the profile run.
  bool samples_by_triton = false;
  /// Networks without experts and states run in the second model runner, which copies the logits
  /// once to sample (`VllmConfig.use_v2_model_runner`, from 0.25).
  bool dense_in_second_runner = false;
  /// All networks do.
  bool all_in_second_runner = false;
  /// GiB that CUDA libraries take beside PyTorch's allocator on any GPU: 0.13 by a log of 0.11,
  /// 0.24 and 0.25 by three of 0.19; in between by the blocks that llama-2-7b got in 0.15.
  double non_torch_gib = 0.25;
  /// All-reduces between two GPUs or more of one node with NVSwitch are fused with what follows,
  /// by default (FlashInfer, from 0.17: `enable_allreduce_rms_fusion`).
  bool fuses_all_reduce = false;
  /// GiB that those take beside their workspace: 0.97 by a log of 0.19 (two H100, qwen2.5-7b), for
  /// a reason not known; none by one of 0.25 (four H100).
  double fused_all_reduce_gib = 0.0;
  /// "KV cache size" of the log is what requests of max_model_len keep, not the blocks' tokens.
  bool logs_tokens_of_longest = false;
  /// A start with more max_num_seqs than blocks is refused where layers keep states and CUDA graphs
  /// hold decodes whole (from 0.20, #38270).
  bool needs_block_per_sequence = false;
  /// CUDA graphs are taken out of the KV budget (estimated), not on top of it.
  bool graphs_in_kv_budget = false;
  double default_gpu_memory_utilization = 0.90;
  /// GPUs of 160 GiB or more have a default budget of 16384 tokens (from 2026-08-11, #51726).
  bool larger_budget_on_large_gpus = false;
  /// Data-parallel ranks whose experts take batches of fixed shape (DeepEP's low-latency kernels)
  /// have a default budget of 256 tokens (from 2026-04-14, #39107).
  bool small_budget_of_batched_experts = false;
  /// max_num_scheduled_tokens exists.
  bool has_scheduled_tokens = false;
  /// performance_mode exists.
  bool has_performance_mode = false;
  /// prefix_cache_retention_interval exists, and is 0 by default (from 0.29): beside full
  /// attention few blocks of windows can be found.
  bool thins_windows = false;
  /// Prefixes of networks with recurrent states can be cached, in the mode "align"; ...
  bool caches_states = false;
  /// ... and are by default.
  bool caches_states_by_default = false;
  /// The last state that a prefill keeps leaves a token to compute.
  bool states_leave_token = false;
  /// Beside drafts that give up a block, what ends a block below a junction stays findable too.
  bool keeps_below_junction = false;
  /// A start is refused where the longest request needs the null block too.
  bool needs_usable_blocks = false;
  /// A GB10 has the default limits of a small GPU.
  bool small_limits_of_gb10 = false;
  /// The state at a prompt's last aligned position counts as new in each step that ends behind it.
  bool renews_last_state = false;

  friend bool operator==(const Profile&, const Profile&) = default;
};

/// All profiles, oldest first.
[[nodiscard]] std::span<const Profile> profiles();

/// One member of Profile by its name, in words.
struct Rule {
  std::string_view name;
  std::variant<bool Profile::*, double Profile::*, GraphSizes Profile::*> member;
  std::string_view if_on;   ///< What an engine with it does; a number in place of {}.
  std::string_view if_off;  ///< What one without it does.
};
[[nodiscard]] std::span<const Rule> rules();
[[nodiscard]] document::Node value_of(const Rule& rule, const Profile& profile);
[[nodiscard]] std::string text_of(const Rule& rule, const Profile& profile);
/// The profile with another value of a rule. Fails where there is none of that name, and for a
/// value of another kind.
[[nodiscard]] core::Result<Profile> with_rule(Profile profile,
                                              std::string_view name,
                                              const document::Node& value);

/// What `profile` does differently from the one before it, in a few words each; of the oldest, what
/// it does differently from what came later.
[[nodiscard]] std::vector<std::string> distinctions(const Profile& profile);

/// "vllm@0.15", "0.15.1", "vllm@0.16": the greatest profile not above the version named.
[[nodiscard]] core::Result<Profile> find_profile(std::string_view version);

/// What the list of captured graphs follows.
struct GraphLimits {
  std::int64_t max_num_seqs = 256;
  core::Tokens max_num_batched_tokens{2048};
  std::int64_t num_speculative_tokens = 0;
  std::span<const domain::DraftLevel> draft_levels = {};  ///< EngineOptions::draft_levels.
  /// Data-centre Blackwell: 160 GiB or more, where workstations have 96.
  bool is_large_blackwell = false;
  bool is_gpt_oss = false;
  std::optional<std::int64_t> largest = {};  ///< max_cudagraph_capture_size, in place of the rule.
  bool every_small_size = false;             ///< performance_mode interactivity.
};
[[nodiscard]] bool is_large_blackwell(core::Bytes gpu_memory, std::string_view gpu_architecture);
/// Ascending token counts with a captured graph under a profile.
[[nodiscard]] std::vector<std::int64_t> cuda_graph_sizes(const Profile& profile,
                                                         const GraphLimits& limits);

/// vLLM's default token budget and sequence limit of an API server on this much memory.
struct DefaultLimits {
  std::int64_t max_num_seqs;
  core::Tokens max_num_batched_tokens;
};
[[nodiscard]] DefaultLimits default_limits(const Profile& profile,
                                           core::Bytes gpu_memory,
                                           std::string_view gpu_architecture,
                                           bool is_gb10 = false);

}  // namespace ridgeline::engine
