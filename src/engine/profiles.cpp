#include "engine/profiles.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {
namespace {

using Version = std::pair<int, int>;

constexpr std::string_view kEngine = "vllm@";

/// GPUs of this much memory and more are vLLM's largest class.
constexpr double kLargestGib = 160.0;

Profile oldest() {
  Profile v08;
  v08.name = "vllm@0.8";
  v08.async_by_default = false;
  v08.async_skips_last_token = false;
  v08.prefix_stats_split_preempted = false;
  v08.counts_preemptions = false;
  v08.prefix_stats_in_blocks = true;
  v08.has_priority_policy = false;
  v08.victim_returns_budget = false;
  v08.updates_running_only = true;
  v08.whole_prompt_blocks_queue = false;
  v08.ignores_whole_prompt = true;
  v08.masks_beside_forward = false;
  v08.lookahead_from_first_chunk = true;
  v08.hashes_less_all_drafts = true;
  v08.keeps_last_position_free = false;
  v08.remote_rounds_up_to_blocks = true;
  v08.frees_uncached_in_order = true;
  v08.non_torch_gib = 0.13;
  v08.graph_sizes = GraphSizes::kStep8To512;
  v08.whole_graphs = false;
  v08.graphs_count_drafts = false;
  return v08;
}

/// The next profile, without its differences.
Profile after(Profile previous, std::string name) {
  previous.name = std::move(name);
  return previous;
}

Profile profile_of_017(const Profile& v15) {
  Profile v17 = after(v15, "vllm@0.17");
  v17.sorts_to_sample = false;
  v17.samples_by_triton = true;
  v17.fuses_all_reduce = true;
  v17.fused_all_reduce_gib = 0.97;
  return v17;
}

Profile profile_of_020(const Profile& v19) {
  Profile v20 = after(v19, "vllm@0.20");
  v20.reserve_full_prompt = true;
  v20.graphs_include_budget = true;
  v20.small_budget_of_batched_experts = true;
  v20.needs_block_per_sequence = true;
  v20.graphs_in_kv_budget = true;
  v20.default_gpu_memory_utilization = 0.92;
  return v20;
}

Profile profile_of_024(const Profile& v21) {
  Profile v24 = after(v21, "vllm@0.24");
  v24.free_unhashed_first = true;
  v24.has_watermark = true;
  v24.caps_windows_at_admission = true;
  v24.draft_drops_block_per_layout = false;
  v24.has_draft_levels = true;
  return v24;
}

Profile profile_of_025(const Profile& v24) {
  Profile v25 = after(v24, "vllm@0.25");
  v25.dense_in_second_runner = true;
  v25.fused_all_reduce_gib = 0.0;
  return v25;
}

Profile profile_of_027(const Profile& v25) {
  Profile v27 = after(v25, "vllm@0.27");
  v27.prefix_stats_per_lookup = false;
  v27.lookahead_from_first_chunk = true;
  v27.pads_single_tokens_to_drafts = true;
  v27.drafts_lower_budget = true;
  v27.waits_for_stale_steps = true;
  v27.windows_keep_steps_in_flight = true;
  v27.remote_load_spares_prefills = true;
  v27.remote_abort_waits_for_load = true;
  v27.caches_states = true;
  v27.defers_frees = true;
  return v27;
}

Profile profile_of_028(const Profile& v27) {
  Profile v28 = after(v27, "vllm@0.28");
  v28.frees_uncached_first = true;
  v28.drafts_lower_budget = false;
  v28.drafts_take_input_slots = true;
  v28.cursor_follows_every_victim = true;
  v28.spares_prompt_end = true;
  v28.larger_graphs_on_blackwell = true;
  v28.larger_budget_on_large_gpus = true;
  v28.caches_states_by_default = true;
  return v28;
}

Profile profile_of_029(const Profile& v28) {
  Profile v29 = after(v28, "vllm@0.29");
  v29.pads_within_model_len = true;
  v29.thins_windows = true;
  v29.all_in_second_runner = true;
  v29.graphs_include_decodes = true;
  return v29;
}

Profile profile_of_030(const Profile& v29) {
  Profile v30 = after(v29, "vllm@0.30");
  v30.pads_beside_nothing = true;
  v30.keeps_blocks_to_extend = true;
  v30.spares_deferred_victims = true;
  return v30;
}

Profile profile_of_031(const Profile& v30) {
  Profile v31 = after(v30, "vllm@0.31");
  v31.leaves_single_prefill_whole = true;
  v31.has_active_limit = true;
  v31.has_kv_queue = true;
  v31.load_spares_draft_steps = true;
  v31.graphs_include_sequences = true;
  return v31;
}

Profile profile_of_032(const Profile& v31) {
  Profile v32 = after(v31, "vllm@0.32");
  v32.admits_loaded_when_paused = true;
  v32.draft_steps_share_blocks = true;
  v32.states_leave_token = true;
  v32.renews_last_state = true;
  return v32;
}

Profile profile_of_033(const Profile& v32) {
  Profile v33 = after(v32, "vllm@0.33");
  v33.serves_behind_self_preemption = true;
  v33.caps_adapters_of_running = true;
  v33.holds_prefills = true;
  v33.hashes_look_ahead = true;
  v33.caches_ended_steps = true;
  v33.skips_unused_drafts = true;
  v33.renews_last_state = false;
  return v33;
}

const std::array<Profile, 20>& table() {
  static const std::array<Profile, 20> kProfiles = [] {
    const Profile v08 = oldest();
    Profile v09 = after(v08, "vllm@0.9");
    v09.prefix_stats_in_blocks = false;
    v09.has_priority_policy = true;
    v09.ignores_whole_prompt = false;
    v09.reverses_passed_over = true;
    v09.hashes_less_all_drafts = false;
    v09.keeps_last_position_free = true;
    v09.frees_uncached_in_order = false;
    v09.graph_sizes = GraphSizes::kStep8;
    Profile v11 = after(v09, "vllm@0.11");
    v11.prefix_stats_split_preempted = true;
    v11.updates_running_only = false;
    v11.lookahead_from_first_chunk = false;
    v11.counts_preemptions = true;
    v11.whole_graphs = true;
    v11.keeps_drafts_of_preempted = true;
    Profile v13 = after(v11, "vllm@0.13");
    v13.async_skips_last_token = true;
    v13.victim_returns_budget = true;
    v13.whole_prompt_blocks_queue = true;
    v13.masks_beside_forward = true;
    v13.non_torch_gib = 0.25;
    v13.graph_sizes = GraphSizes::kStep8Then16;
    v13.graphs_count_drafts = true;
    Profile v14 = after(v13, "vllm@0.14");
    v14.async_by_default = true;
    v14.reverses_passed_over = false;
    v14.keeps_drafts_of_preempted = false;
    const Profile v15 = after(v14, "vllm@0.15");
    const Profile v17 = profile_of_017(v15);
    Profile v18 = after(v17, "vllm@0.18");
    v18.has_skipped_queue = true;
    v18.remote_rounds_up_to_blocks = false;
    v18.has_scheduled_tokens = true;
    v18.has_performance_mode = true;
    const Profile v19 = after(v18, "vllm@0.19");
    const Profile v20 = profile_of_020(v19);
    Profile v21 = after(v20, "vllm@0.21");
    v21.logs_tokens_of_longest = true;
    const Profile v24 = profile_of_024(v21);
    const Profile v25 = profile_of_025(v24);
    const Profile v27 = profile_of_027(v25);
    const Profile v28 = profile_of_028(v27);
    const Profile v29 = profile_of_029(v28);
    const Profile v30 = profile_of_030(v29);
    const Profile v31 = profile_of_031(v30);
    const Profile v32 = profile_of_032(v31);
    const Profile v33 = profile_of_033(v32);
    return std::array{v08, v09, v11, v13, v14, v15, v17, v18, v19, v20,
                      v21, v24, v25, v27, v28, v29, v30, v31, v32, v33};
  }();
  return kProfiles;
}

/// A switch in words: what an engine does that has it on, and one that has it off.
struct SwitchText {
  bool Profile::* on;
  std::string_view if_on;
  std::string_view if_off;
};

constexpr auto kSwitchTexts = std::to_array<SwitchText>({
    {&Profile::async_by_default, "asynchronous by default", "synchronous by default"},
    {&Profile::async_skips_last_token,
     "asynchronous steps leave out requests whose last token is in flight",
     "asynchronous steps waste one on every end"},
    {&Profile::reserve_full_prompt,
     "admits only requests whose whole prompt has blocks",
     "admits requests whose next chunk has blocks"},
    {&Profile::free_unhashed_first,
     "reuses blocks without findable content first",
     "reuses freed blocks last"},
    {&Profile::frees_uncached_first,
     "reuses freed blocks first without prefix caching",
     "reuses freed blocks last without prefix caching"},
    {&Profile::has_watermark, "watermark at admission", "no watermark"},
    {&Profile::has_priority_policy, "priority scheduling", "no priority scheduling"},
    {&Profile::victim_returns_budget,
     "a victim leaves the step it was in",
     "a victim stays in the step it was in"},
    {&Profile::cursor_follows_every_victim,
     "no request is missed after a preemption",
     "a request behind an unscheduled victim may be missed"},
    {&Profile::serves_behind_self_preemption,
     "serves those behind a request that gives way to itself",
     "a request that gives way to itself ends the running pass"},
    {&Profile::updates_running_only,
     "what a preempted request sampled is lost",
     "what a preempted request sampled is kept"},
    {&Profile::whole_prompt_blocks_queue,
     "an uncut prompt that does not fit ends admission",
     "an uncut prompt that does not fit is passed over"},
    {&Profile::ignores_whole_prompt, "prompts are always cut", "prompts may be kept whole"},
    {&Profile::has_skipped_queue,
     "a queue for requests passed over",
     "requests passed over stay at the head of the queue"},
    {&Profile::has_kv_queue,
     "a queue for requests that hold KV, served first",
     "one queue for requests passed over"},
    {&Profile::admits_loaded_when_paused,
     "a pause admits requests that hold KV",
     "a pause admits no request"},
    {&Profile::reverses_passed_over,
     "requests passed over go back in reverse order",
     "requests passed over keep their order"},
    {&Profile::masks_beside_forward,
     "makes grammar masks while the forward pass runs",
     "makes grammar masks before the forward pass"},
    {&Profile::lookahead_from_first_chunk,
     "draft slots from the first chunk on",
     "draft slots from the second chunk on"},
    {&Profile::pads_single_tokens_to_drafts,
     "pads single tokens to the drafts' length",
     "single tokens as they are"},
    {&Profile::pads_within_model_len,
     "no padding past max_model_len",
     "padding past max_model_len ends admission"},
    {&Profile::pads_beside_nothing,
     "pads also where nothing runs",
     "pads beside running requests alone"},
    {&Profile::leaves_single_prefill_whole,
     "long_prefill_token_threshold spares a request alone",
     "long_prefill_token_threshold binds a request alone"},
    {&Profile::has_active_limit,
     "max_num_active_seqs; long_prefill_token_threshold_adaptive",
     "no max_num_active_seqs"},
    {&Profile::holds_prefills,
     "prefill_schedule_interval on any engine",
     "prefill_schedule_interval beside other ranks alone"},
    {&Profile::caps_adapters_of_running,
     "the adapter cap counts all running requests",
     "the adapter cap counts the step's requests"},
    {&Profile::drafts_take_input_slots,
     "a draft model takes input positions",
     "a draft model takes no input positions per request"},
    {&Profile::drafts_lower_budget,
     "a draft model lowers the token budget",
     "a draft model leaves the token budget"},
    {&Profile::hashes_less_all_drafts, "caches tokens less all drafts", "caches all tokens known"},
    {&Profile::keeps_drafts_of_preempted,
     "a preempted request keeps its drafts",
     "a preempted request drops its drafts"},
    {&Profile::draft_drops_block_per_layout,
     "drafts give up a cached block per layout",
     "drafts give up one cached block"},
    {&Profile::hashes_look_ahead,
     "hashes look ahead, and drafts give up no cached block",
     "drafts give up a cached block"},
    {&Profile::caches_ended_steps,
     "caches tokens with drafts as steps end",
     "caches tokens with drafts as steps are formed"},
    {&Profile::skips_unused_drafts,
     "drafts nothing that no request could use",
     "drafts behind every step"},
    {&Profile::keeps_last_position_free,
     "computes up to max_model_len - 1",
     "computes up to max_model_len"},
    {&Profile::waits_for_stale_steps,
     "a preempted request waits for its steps in flight",
     "a preempted request may resume at once"},
    {&Profile::windows_keep_steps_in_flight,
     "windows keep what steps in flight read",
     "windows move on at schedule time"},
    {&Profile::caps_windows_at_admission,
     "windows ask for what they can hold",
     "windows ask for the whole prompt"},
    {&Profile::remote_rounds_up_to_blocks,
     "remote KV counts in whole blocks",
     "remote KV counts in tokens"},
    {&Profile::remote_load_spares_prefills,
     "remote loads spare running prefills",
     "remote loads take what is free"},
    {&Profile::load_spares_draft_steps,
     "remote loads spare steps with drafts",
     "remote loads spare prefills alone"},
    {&Profile::draft_steps_share_blocks,
     "counts steps with drafts in tokens",
     "counts steps with drafts in blocks"},
    {&Profile::defers_frees,
     "blocks come back behind steps in flight where KV is taken in",
     "blocks come back at once"},
    {&Profile::spares_deferred_victims,
     "no victim whose blocks come back later",
     "victims whose blocks come back later"},
    {&Profile::remote_abort_waits_for_load,
     "an abort waits for its load",
     "an abort frees a load's blocks at once"},
    {&Profile::frees_uncached_in_order,
     "frees uncached blocks first to last",
     "frees blocks last to first"},
    {&Profile::prefix_stats_in_blocks,
     "prefix statistics in blocks",
     "prefix statistics in tokens"},
    {&Profile::prefix_stats_split_preempted,
     "prefix statistics keep preempted requests apart",
     "one prefix statistic for all"},
    {&Profile::prefix_stats_per_lookup,
     "prefix statistics count every look-up",
     "prefix statistics count admissions"},
    {&Profile::counts_preemptions, "counts preemptions", "does not count preemptions"},
    {&Profile::sorts_to_sample,
     "samples by sorting the logits",
     "samples without sorting the logits"},
    {&Profile::dense_in_second_runner,
     "dense networks sample in less memory",
     "dense networks sample as the others"},
    {&Profile::all_in_second_runner,
     "all networks in the second model runner",
     "networks with experts or states in the first model runner"},
    {&Profile::fuses_all_reduce,
     "all-reduces fused with what follows",
     "all-reduces by themselves"},
    {&Profile::logs_tokens_of_longest,
     "logs the cache as tokens of its longest requests",
     "logs the cache as tokens of its blocks"},
    {&Profile::needs_block_per_sequence,
     "a block for each sequence where layers keep states",
     "more sequences than blocks where layers keep states"},
    {&Profile::whole_graphs, "whole CUDA graphs of decodes", "CUDA graphs of decodes in pieces"},
    {&Profile::graphs_count_drafts,
     "the largest CUDA graph counts drafts",
     "the largest CUDA graph counts no drafts"},
    {&Profile::graphs_include_budget,
     "a CUDA graph of the whole token budget",
     "no CUDA graph of the whole token budget"},
    {&Profile::graphs_include_decodes,
     "CUDA graphs of decodes with their drafts",
     "CUDA graphs of the usual sizes with drafts"},
    {&Profile::graphs_include_sequences,
     "a CUDA graph of max_num_seqs",
     "no CUDA graph of max_num_seqs"},
    {&Profile::larger_graphs_on_blackwell,
     "CUDA graphs to 1024 tokens on Blackwell",
     "CUDA graphs to 512 tokens on Blackwell"},
    {&Profile::larger_budget_on_large_gpus,
     "a budget of 16384 tokens on GPUs of 160 GiB",
     "a budget of 8192 tokens on GPUs of 160 GiB"},
    {&Profile::small_budget_of_batched_experts,
     "a budget of 256 tokens with DeepEP's low-latency kernels",
     "the GPU's budget with DeepEP's low-latency kernels"},
    {&Profile::has_scheduled_tokens, "max_num_scheduled_tokens", "no max_num_scheduled_tokens"},
    {&Profile::has_performance_mode, "performance_mode", "no performance_mode"},
    {&Profile::has_draft_levels, "drafts by the requests of a step", "a fixed number of drafts"},
    {&Profile::thins_windows,
     "keeps few blocks of windows findable",
     "keeps all blocks of windows findable"},
    {&Profile::spares_prompt_end,
     "several draft modules keep chunks off the prompt's end",
     "several draft modules leave chunks alone"},
    {&Profile::caches_states,
     "caches prefixes of networks with states",
     "caches no prefixes of networks with states"},
    {&Profile::caches_states_by_default,
     "caches prefixes of networks with states by default",
     "caches prefixes of networks with states where asked to"},
    {&Profile::states_leave_token,
     "the last state kept leaves a token to compute",
     "the last state kept may be the prompt's end"},
    {&Profile::renews_last_state,
     "a prompt's last state is new in every step",
     "a prompt's last state is new once"},
    {&Profile::keeps_blocks_to_extend,
     "windows keep what longer prompts need beside drafts",
     "windows keep what the same prompt needs beside drafts"},
    {&Profile::graphs_in_kv_budget,
     "CUDA graphs in the KV budget",
     "CUDA graphs on top of the KV budget"},
});

std::string_view text_of(GraphSizes sizes) {
  switch (sizes) {
    case GraphSizes::kStep8To512:
      return "graphs for every 8th size to 512";
    case GraphSizes::kStep8:
      return "graphs for every 8th size to min(2 max_num_seqs, 512)";
    case GraphSizes::kStep8Then16:
      return "graphs for every 16th size above 256";
  }
  return "";
}

/// "0.15.1" -> (0, 15).
std::optional<Version> parse_version(std::string_view text) {
  if (text.starts_with(kEngine)) {
    text.remove_prefix(kEngine.size());
  }
  Version version{};
  const char* const end = text.data() + text.size();
  auto [dot, error] = std::from_chars(text.data(), end, version.first);
  if (error != std::errc() || dot == end || *dot != '.') {
    return std::nullopt;
  }
  auto [rest, minor_error] = std::from_chars(dot + 1, end, version.second);
  if (minor_error != std::errc() || (rest != end && *rest != '.')) {
    return std::nullopt;
  }
  return version;
}

}  // namespace

std::span<const Profile> profiles() {
  return table();
}

std::vector<std::string> distinctions(const Profile& profile) {
  const auto all = profiles();
  const auto place = std::find_if(
      all.begin(), all.end(), [&](const Profile& other) { return other.name == profile.name; });
  const bool is_oldest = place == all.begin() || place == all.end();
  const Profile& other = is_oldest ? all[1] : *(place - 1);
  std::vector<std::string> texts;
  for (const auto& text : kSwitchTexts) {
    const bool on = profile.*(text.on);
    if (on != other.*(text.on)) {
      texts.emplace_back(on ? text.if_on : text.if_off);
    }
  }
  if (profile.graph_sizes != other.graph_sizes) {
    texts.emplace_back(text_of(profile.graph_sizes));
  }
  if (profile.default_gpu_memory_utilization != other.default_gpu_memory_utilization) {
    texts.push_back(
        fmt::format("gpu_memory_utilization {}", profile.default_gpu_memory_utilization));
  }
  if (texts.empty()) {
    texts.push_back("as " + other.name);
  }
  return texts;
}

core::Result<Profile> find_profile(std::string_view version) {
  const auto wanted = parse_version(version);
  const auto& all = table();
  // The newest that is not above it.
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const Profile& profile) {
    return wanted && *parse_version(profile.name) <= *wanted;
  });
  if (found == all.rend()) {
    std::string known;
    for (const Profile& profile : all) {
      known += (known.empty() ? "" : ", ") + profile.name;
    }
    return core::fail({.field = "engine.version",
                       .message = fmt::format(
                           "\"{}\" is not an engine version, expected one of {}", version, known)});
  }
  return *found;
}

bool is_large_blackwell(core::Bytes gpu_memory, std::string_view gpu_architecture) {
  return gpu_architecture == "blackwell" && core::as_gibibytes(gpu_memory) >= kLargestGib;
}

namespace {

/// Tokens of the steps of decodes that have graphs of their own, up to `top`: of the usual numbers
/// of sequences with drafts, of max_num_seqs without (vllm/config/vllm.py, _set_cudagraph_sizes).
std::vector<std::int64_t> decode_sizes(const Profile& profile,
                                       const GraphLimits& limits,
                                       std::int64_t top) {
  constexpr std::int64_t kFineStep = 8;
  constexpr std::int64_t kCoarseStep = 16;
  constexpr std::int64_t kCoarseFrom = 256;
  std::vector<std::int64_t> sizes;
  if (limits.num_speculative_tokens == 0) {
    if (profile.graphs_include_sequences) {
      sizes.push_back(limits.max_num_seqs);
    }
  } else if (profile.graphs_include_decodes) {
    // The widest step of each number of drafts.
    std::map<std::int64_t, std::int64_t> most;
    for (std::int64_t from = 0; const domain::DraftLevel& level : limits.draft_levels) {
      if (from < limits.max_num_seqs) {
        from = std::min(level.most_requests, limits.max_num_seqs);
        most[level.drafts] = from;
      }
    }
    most[limits.draft_levels.empty() ? limits.num_speculative_tokens
                                     : limits.draft_levels.back().drafts] = limits.max_num_seqs;
    for (const auto& [drafts, sequences] : most) {
      const std::int64_t width = 1 + drafts;
      const std::int64_t last = std::min(sequences, top);
      for (const std::int64_t few : {1, 2, 4}) {
        sizes.push_back(std::min<std::int64_t>(few, last) * width);
      }
      for (std::int64_t n = kFineStep; n <= last; n += n >= kCoarseFrom ? kCoarseStep : kFineStep) {
        sizes.push_back(n * width);
      }
      sizes.push_back(last * width);
    }
  }
  std::erase_if(sizes, [&](std::int64_t size) { return size > top; });
  return sizes;
}

}  // namespace

std::vector<std::int64_t> cuda_graph_sizes(const Profile& profile, const GraphLimits& limits) {
  constexpr std::int64_t kLargestGraph = 512;
  constexpr std::int64_t kLargestOnBlackwell = 1024;
  constexpr std::int64_t kFineStep = 8;
  constexpr std::int64_t kCoarseStep = 16;
  constexpr std::int64_t kCoarseFrom = 256;
  constexpr std::int64_t kEverySizeTo = 32;  // vllm/config/vllm.py, performance_mode
  const std::int64_t budget = limits.max_num_batched_tokens.value();
  std::int64_t top = kLargestGraph;
  if (profile.larger_graphs_on_blackwell && limits.is_large_blackwell) {
    top = kLargestOnBlackwell;
  }
  if (profile.graph_sizes != GraphSizes::kStep8To512) {
    const std::int64_t per_sequence =
        profile.graphs_count_drafts ? 1 + limits.num_speculative_tokens : 1;
    top = std::min({2 * limits.max_num_seqs * per_sequence, top, budget});
  }
  if (limits.largest) {
    top = std::min(*limits.largest, budget);
  }
  std::vector<std::int64_t> sizes;
  std::int64_t size = kFineStep;
  if (limits.every_small_size) {
    for (std::int64_t small = 1; small <= std::min(kEverySizeTo, top); ++small) {
      sizes.push_back(small);
    }
    size = kEverySizeTo + kFineStep;
  } else {
    for (const std::int64_t small : {1, 2, 4}) {
      if (small <= top) {
        sizes.push_back(small);
      }
    }
  }
  while (size <= top) {
    sizes.push_back(size);
    const bool coarse = profile.graph_sizes == GraphSizes::kStep8Then16 && size >= kCoarseFrom;
    size += coarse ? kCoarseStep : kFineStep;
  }
  if (profile.graphs_include_budget && budget == top && sizes.back() < budget) {
    sizes.push_back(budget);
  }
  if (!limits.largest) {
    const std::vector<std::int64_t> decodes = decode_sizes(profile, limits, top);
    sizes.insert(sizes.end(), decodes.begin(), decodes.end());
    std::ranges::sort(sizes);
    sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
  }
  return sizes;
}

DefaultLimits default_limits(const Profile& profile,
                             core::Bytes gpu_memory,
                             std::string_view gpu_architecture) {
  // vLLM's EngineArgs: large GPUs get the larger class, but for the A100.
  constexpr double kLargeGib = 70.0;
  constexpr core::Tokens kLargestBudget{16384};
  const double gib = core::as_gibibytes(gpu_memory);
  const bool large = gib >= kLargeGib && gpu_architecture != "ampere";
  DefaultLimits limits =
      large ? DefaultLimits{.max_num_seqs = 1024, .max_num_batched_tokens = core::Tokens(8192)}
            : DefaultLimits{.max_num_seqs = 256, .max_num_batched_tokens = core::Tokens(2048)};
  if (profile.larger_budget_on_large_gpus && large && gib >= kLargestGib) {
    limits.max_num_batched_tokens = kLargestBudget;
  }
  return limits;
}

}  // namespace ridgeline::engine
