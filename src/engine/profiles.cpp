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

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  v27.larger_graphs_of_gpt_oss = true;
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
  v28.aligns_before_images = true;
  v28.encodes_read_ahead = true;
  return v28;
}

Profile profile_of_029(const Profile& v28) {
  Profile v29 = after(v28, "vllm@0.29");
  v29.pads_within_model_len = true;
  v29.pads_within_states = true;
  v29.keeps_repeated_images = true;
  v29.counts_offered_chunks = true;
  v29.needs_usable_blocks = true;
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
  v30.arc_gives_up_either = true;
  return v30;
}

Profile profile_of_031(const Profile& v30) {
  Profile v31 = after(v30, "vllm@0.31");
  v31.leaves_single_prefill_whole = true;
  v31.has_active_limit = true;
  v31.has_kv_queue = true;
  v31.load_spares_draft_steps = true;
  v31.graphs_include_sequences = true;
  v31.drops_steps_of_turn = true;
  v31.chunks_follow_requests = true;
  return v31;
}

Profile profile_of_032(const Profile& v31) {
  Profile v32 = after(v31, "vllm@0.32");
  v32.admits_loaded_when_paused = true;
  v32.draft_steps_share_blocks = true;
  v32.states_leave_token = true;
  v32.renews_last_state = true;
  v32.holds_images_at_once = true;
  v32.keeps_cached_images_whole = true;
  v32.drops_hashes_of_turn = true;
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
  v33.keeps_first_images_whole = true;
  v33.ignores_read_ahead_of_images = true;
  v33.passes_over_images = true;
  v33.keeps_tokens_of_turn = true;
  v33.ranks_running_chunks = true;
  v33.keeps_below_junction = true;
  v33.small_limits_of_gb10 = true;
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
  for (const Rule& rule : rules()) {
    if (std::string text = text_of(rule, profile); text != text_of(rule, other)) {
      texts.push_back(std::move(text));
    }
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
  constexpr std::int64_t kLarger = 1024;
  constexpr std::int64_t kFineStep = 8;
  constexpr std::int64_t kCoarseStep = 16;
  constexpr std::int64_t kCoarseFrom = 256;
  constexpr std::int64_t kEverySizeTo = 32;  // vllm/config/vllm.py, performance_mode
  const std::int64_t budget = limits.max_num_batched_tokens.value();
  std::int64_t top = kLargestGraph;
  if ((profile.larger_graphs_on_blackwell && limits.is_large_blackwell) ||
      (profile.larger_graphs_of_gpt_oss && limits.is_gpt_oss)) {
    top = kLarger;
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
                             std::string_view gpu_architecture,
                             bool is_gb10) {
  // vLLM's EngineArgs: large GPUs get the larger class, but for the A100.
  constexpr double kLargeGib = 70.0;
  constexpr core::Tokens kLargestBudget{16384};
  const double gib = core::as_gibibytes(gpu_memory);
  const bool large = gib >= kLargeGib && gpu_architecture != "ampere" &&
                     !(is_gb10 && profile.small_limits_of_gb10);
  DefaultLimits limits =
      large ? DefaultLimits{.max_num_seqs = 1024, .max_num_batched_tokens = core::Tokens(8192)}
            : DefaultLimits{.max_num_seqs = 256, .max_num_batched_tokens = core::Tokens(2048)};
  if (profile.larger_budget_on_large_gpus && large && gib >= kLargestGib) {
    limits.max_num_batched_tokens = kLargestBudget;
  }
  return limits;
}

}  // namespace ridgeline::engine
