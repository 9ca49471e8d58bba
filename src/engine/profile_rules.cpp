#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::engine {
namespace {

/// GraphSizes by their places.
constexpr auto kGraphSizeWords =
    std::to_array<std::string_view>({"every-8-to-512", "every-8", "every-8-then-16"});

constexpr auto kRules = std::to_array<Rule>({
    {"async_by_default",
     &Profile::async_by_default,
     "asynchronous by default",
     "synchronous by default"},
    {"async_skips_last_token",
     &Profile::async_skips_last_token,
     "asynchronous steps leave out requests whose last token is in flight",
     "asynchronous steps waste one on every end"},
    {"reserve_full_prompt",
     &Profile::reserve_full_prompt,
     "admits only requests whose whole prompt has blocks",
     "admits requests whose next chunk has blocks"},
    {"free_unhashed_first",
     &Profile::free_unhashed_first,
     "reuses blocks without findable content first",
     "reuses freed blocks last"},
    {"frees_uncached_first",
     &Profile::frees_uncached_first,
     "reuses freed blocks first without prefix caching",
     "reuses freed blocks last without prefix caching"},
    {"has_watermark", &Profile::has_watermark, "watermark at admission", "no watermark"},
    {"has_priority_policy",
     &Profile::has_priority_policy,
     "priority scheduling",
     "no priority scheduling"},
    {"victim_returns_budget",
     &Profile::victim_returns_budget,
     "a victim leaves the step it was in",
     "a victim stays in the step it was in"},
    {"cursor_follows_every_victim",
     &Profile::cursor_follows_every_victim,
     "no request is missed after a preemption",
     "a request behind an unscheduled victim may be missed"},
    {"serves_behind_self_preemption",
     &Profile::serves_behind_self_preemption,
     "serves those behind a request that gives way to itself",
     "a request that gives way to itself ends the running pass"},
    {"updates_running_only",
     &Profile::updates_running_only,
     "what a preempted request sampled is lost",
     "what a preempted request sampled is kept"},
    {"whole_prompt_blocks_queue",
     &Profile::whole_prompt_blocks_queue,
     "an uncut prompt that does not fit ends admission",
     "an uncut prompt that does not fit is passed over"},
    {"ignores_whole_prompt",
     &Profile::ignores_whole_prompt,
     "prompts are always cut",
     "prompts may be kept whole"},
    {"has_skipped_queue",
     &Profile::has_skipped_queue,
     "a queue for requests passed over",
     "requests passed over stay at the head of the queue"},
    {"has_kv_queue",
     &Profile::has_kv_queue,
     "a queue for requests that hold KV, served first",
     "one queue for requests passed over"},
    {"admits_loaded_when_paused",
     &Profile::admits_loaded_when_paused,
     "a pause admits requests that hold KV",
     "a pause admits no request"},
    {"reverses_passed_over",
     &Profile::reverses_passed_over,
     "requests passed over go back in reverse order",
     "requests passed over keep their order"},
    {"masks_beside_forward",
     &Profile::masks_beside_forward,
     "makes grammar masks while the forward pass runs",
     "makes grammar masks before the forward pass"},
    {"lookahead_from_first_chunk",
     &Profile::lookahead_from_first_chunk,
     "draft slots from the first chunk on",
     "draft slots from the second chunk on"},
    {"pads_single_tokens_to_drafts",
     &Profile::pads_single_tokens_to_drafts,
     "pads single tokens to the drafts' length",
     "single tokens as they are"},
    {"pads_within_model_len",
     &Profile::pads_within_model_len,
     "no padding past max_model_len",
     "padding past max_model_len ends admission"},
    {"counts_offered_chunks",
     &Profile::counts_offered_chunks,
     "store_threshold counts offers",
     "store_threshold counts look-ups"},
    {"arc_gives_up_either",
     &Profile::arc_gives_up_either,
     "ARC takes from either list",
     "ARC finds no room where one list is in use"},
    {"chunks_follow_requests",
     &Profile::chunks_follow_requests,
     "offloaded chunks are used once per request",
     "offloaded chunks are used at each look-up and transfer"},
    {"ranks_running_chunks",
     &Profile::ranks_running_chunks,
     "running requests rank their offloaded chunks",
     "requests rank their offloaded chunks at their end"},
    {"larger_graphs_of_gpt_oss",
     &Profile::larger_graphs_of_gpt_oss,
     "CUDA graphs to 1024 tokens for gpt-oss",
     "CUDA graphs to 512 tokens for gpt-oss"},
    {"keeps_below_junction",
     &Profile::keeps_below_junction,
     "keeps what ends a block below a junction beside drafts",
     "keeps junctions alone beside drafts"},
    {"needs_usable_blocks",
     &Profile::needs_usable_blocks,
     "a start needs blocks beside the null block",
     "a start counts the null block"},
    {"small_limits_of_gb10",
     &Profile::small_limits_of_gb10,
     "a GB10 has a small GPU's limits",
     "a GB10 has a large GPU's limits"},
    {"pads_within_states",
     &Profile::pads_within_states,
     "no padding past the end of a state's block",
     "padding cut at the end of a state's block"},
    {"aligns_before_images",
     &Profile::aligns_before_images,
     "chunks end at states, then before images",
     "chunks end before images, then at states"},
    {"encodes_read_ahead",
     &Profile::encodes_read_ahead,
     "encodes images that only drafting reads",
     "encodes images of the chunk alone"},
    {"keeps_repeated_images",
     &Profile::keeps_repeated_images,
     "holds an image until its last place was read",
     "holds an image until its first place was read"},
    {"holds_images_at_once",
     &Profile::holds_images_at_once,
     "holds repeated images of a step at once",
     "holds repeated images from the next step on"},
    {"keeps_cached_images_whole",
     &Profile::keeps_cached_images_whole,
     "disable_chunked_mm_input binds cached images",
     "disable_chunked_mm_input leaves cached images"},
    {"keeps_first_images_whole",
     &Profile::keeps_first_images_whole,
     "disable_chunked_mm_input binds chunks that begin at an image",
     "disable_chunked_mm_input leaves chunks that begin at an image"},
    {"ignores_read_ahead_of_images",
     &Profile::ignores_read_ahead_of_images,
     "chunks end at an image that has no room",
     "chunks end so that drafting reads no image that has no room"},
    {"passes_over_images",
     &Profile::passes_over_images,
     "a request whose image has no room is passed over",
     "a request whose image has no room ends admission"},
    {"drops_steps_of_turn",
     &Profile::drops_steps_of_turn,
     "a session's turn drops its steps in flight; the next max_tokens hold",
     "a session's turn keeps its steps in flight and the first max_tokens"},
    {"drops_hashes_of_turn",
     &Profile::drops_hashes_of_turn,
     "a session's turn drops hashes behind what it keeps",
     "a session's turn keeps its hashes"},
    {"keeps_tokens_of_turn",
     &Profile::keeps_tokens_of_turn,
     "a session's turn keeps all tokens but the last",
     "a session's turn keeps the tokens computed"},
    {"pads_beside_nothing",
     &Profile::pads_beside_nothing,
     "pads also where nothing runs",
     "pads beside running requests alone"},
    {"leaves_single_prefill_whole",
     &Profile::leaves_single_prefill_whole,
     "long_prefill_token_threshold spares a request alone",
     "long_prefill_token_threshold binds a request alone"},
    {"has_active_limit",
     &Profile::has_active_limit,
     "max_num_active_seqs; long_prefill_token_threshold_adaptive",
     "no max_num_active_seqs"},
    {"holds_prefills",
     &Profile::holds_prefills,
     "prefill_schedule_interval on any engine",
     "prefill_schedule_interval beside other ranks alone"},
    {"caps_adapters_of_running",
     &Profile::caps_adapters_of_running,
     "the adapter cap counts all running requests",
     "the adapter cap counts the step's requests"},
    {"drafts_take_input_slots",
     &Profile::drafts_take_input_slots,
     "a draft model takes input positions",
     "a draft model takes no input positions per request"},
    {"drafts_lower_budget",
     &Profile::drafts_lower_budget,
     "a draft model lowers the token budget",
     "a draft model leaves the token budget"},
    {"hashes_less_all_drafts",
     &Profile::hashes_less_all_drafts,
     "caches tokens less all drafts",
     "caches all tokens known"},
    {"keeps_drafts_of_preempted",
     &Profile::keeps_drafts_of_preempted,
     "a preempted request keeps its drafts",
     "a preempted request drops its drafts"},
    {"draft_drops_block_per_layout",
     &Profile::draft_drops_block_per_layout,
     "drafts give up a cached block per layout",
     "drafts give up one cached block"},
    {"hashes_look_ahead",
     &Profile::hashes_look_ahead,
     "hashes look ahead, and drafts give up no cached block",
     "drafts give up a cached block"},
    {"caches_ended_steps",
     &Profile::caches_ended_steps,
     "caches tokens with drafts as steps end",
     "caches tokens with drafts as steps are formed"},
    {"skips_unused_drafts",
     &Profile::skips_unused_drafts,
     "drafts nothing that no request could use",
     "drafts behind every step"},
    {"keeps_last_position_free",
     &Profile::keeps_last_position_free,
     "computes up to max_model_len - 1",
     "computes up to max_model_len"},
    {"waits_for_stale_steps",
     &Profile::waits_for_stale_steps,
     "a preempted request waits for its steps in flight",
     "a preempted request may resume at once"},
    {"windows_keep_steps_in_flight",
     &Profile::windows_keep_steps_in_flight,
     "windows keep what steps in flight read",
     "windows move on at schedule time"},
    {"caps_windows_at_admission",
     &Profile::caps_windows_at_admission,
     "windows ask for what they can hold",
     "windows ask for the whole prompt"},
    {"remote_rounds_up_to_blocks",
     &Profile::remote_rounds_up_to_blocks,
     "remote KV counts in whole blocks",
     "remote KV counts in tokens"},
    {"remote_load_spares_prefills",
     &Profile::remote_load_spares_prefills,
     "remote loads spare running prefills",
     "remote loads take what is free"},
    {"load_spares_draft_steps",
     &Profile::load_spares_draft_steps,
     "remote loads spare steps with drafts",
     "remote loads spare prefills alone"},
    {"draft_steps_share_blocks",
     &Profile::draft_steps_share_blocks,
     "counts steps with drafts in tokens",
     "counts steps with drafts in blocks"},
    {"defers_frees",
     &Profile::defers_frees,
     "blocks come back behind steps in flight where KV is taken in",
     "blocks come back at once"},
    {"spares_deferred_victims",
     &Profile::spares_deferred_victims,
     "no victim whose blocks come back later",
     "victims whose blocks come back later"},
    {"remote_abort_waits_for_load",
     &Profile::remote_abort_waits_for_load,
     "an abort waits for its load",
     "an abort frees a load's blocks at once"},
    {"frees_uncached_in_order",
     &Profile::frees_uncached_in_order,
     "frees uncached blocks first to last",
     "frees blocks last to first"},
    {"prefix_stats_in_blocks",
     &Profile::prefix_stats_in_blocks,
     "prefix statistics in blocks",
     "prefix statistics in tokens"},
    {"prefix_stats_split_preempted",
     &Profile::prefix_stats_split_preempted,
     "prefix statistics keep preempted requests apart",
     "one prefix statistic for all"},
    {"prefix_stats_per_lookup",
     &Profile::prefix_stats_per_lookup,
     "prefix statistics count every look-up",
     "prefix statistics count admissions"},
    {"counts_preemptions",
     &Profile::counts_preemptions,
     "counts preemptions",
     "does not count preemptions"},
    {"sorts_to_sample",
     &Profile::sorts_to_sample,
     "samples by sorting the logits",
     "samples without sorting the logits"},
    {"dense_in_second_runner",
     &Profile::dense_in_second_runner,
     "dense networks sample in less memory",
     "dense networks sample as the others"},
    {"all_in_second_runner",
     &Profile::all_in_second_runner,
     "all networks in the second model runner",
     "networks with experts or states in the first model runner"},
    {"fuses_all_reduce",
     &Profile::fuses_all_reduce,
     "all-reduces fused with what follows",
     "all-reduces by themselves"},
    {"logs_tokens_of_longest",
     &Profile::logs_tokens_of_longest,
     "logs the cache as tokens of its longest requests",
     "logs the cache as tokens of its blocks"},
    {"needs_block_per_sequence",
     &Profile::needs_block_per_sequence,
     "a block for each sequence where layers keep states",
     "more sequences than blocks where layers keep states"},
    {"whole_graphs",
     &Profile::whole_graphs,
     "whole CUDA graphs of decodes",
     "CUDA graphs of decodes in pieces"},
    {"graphs_count_drafts",
     &Profile::graphs_count_drafts,
     "the largest CUDA graph counts drafts",
     "the largest CUDA graph counts no drafts"},
    {"graphs_include_budget",
     &Profile::graphs_include_budget,
     "a CUDA graph of the whole token budget",
     "no CUDA graph of the whole token budget"},
    {"graphs_include_decodes",
     &Profile::graphs_include_decodes,
     "CUDA graphs of decodes with their drafts",
     "CUDA graphs of the usual sizes with drafts"},
    {"graphs_include_sequences",
     &Profile::graphs_include_sequences,
     "a CUDA graph of max_num_seqs",
     "no CUDA graph of max_num_seqs"},
    {"larger_graphs_on_blackwell",
     &Profile::larger_graphs_on_blackwell,
     "CUDA graphs to 1024 tokens on Blackwell",
     "CUDA graphs to 512 tokens on Blackwell"},
    {"larger_budget_on_large_gpus",
     &Profile::larger_budget_on_large_gpus,
     "a budget of 16384 tokens on GPUs of 160 GiB",
     "a budget of 8192 tokens on GPUs of 160 GiB"},
    {"small_budget_of_batched_experts",
     &Profile::small_budget_of_batched_experts,
     "a budget of 256 tokens with DeepEP's low-latency kernels",
     "the GPU's budget with DeepEP's low-latency kernels"},
    {"has_scheduled_tokens",
     &Profile::has_scheduled_tokens,
     "max_num_scheduled_tokens",
     "no max_num_scheduled_tokens"},
    {"has_performance_mode",
     &Profile::has_performance_mode,
     "performance_mode",
     "no performance_mode"},
    {"has_draft_levels",
     &Profile::has_draft_levels,
     "drafts by the requests of a step",
     "a fixed number of drafts"},
    {"thins_windows",
     &Profile::thins_windows,
     "keeps few blocks of windows findable",
     "keeps all blocks of windows findable"},
    {"spares_prompt_end",
     &Profile::spares_prompt_end,
     "several draft modules keep chunks off the prompt's end",
     "several draft modules leave chunks alone"},
    {"caches_states",
     &Profile::caches_states,
     "caches prefixes of networks with states",
     "caches no prefixes of networks with states"},
    {"caches_states_by_default",
     &Profile::caches_states_by_default,
     "caches prefixes of networks with states by default",
     "caches prefixes of networks with states where asked to"},
    {"states_leave_token",
     &Profile::states_leave_token,
     "the last state kept leaves a token to compute",
     "the last state kept may be the prompt's end"},
    {"renews_last_state",
     &Profile::renews_last_state,
     "a prompt's last state is new in every step",
     "a prompt's last state is new once"},
    {"keeps_blocks_to_extend",
     &Profile::keeps_blocks_to_extend,
     "windows keep what longer prompts need beside drafts",
     "windows keep what the same prompt needs beside drafts"},
    {"graphs_in_kv_budget",
     &Profile::graphs_in_kv_budget,
     "CUDA graphs in the KV budget",
     "CUDA graphs on top of the KV budget"},
    {"samples_by_triton",
     &Profile::samples_by_triton,
     "a Triton kernel finds the cut of a sample",
     "no Triton kernel samples"},
    {"graph_sizes", &Profile::graph_sizes, "", ""},
    {"default_gpu_memory_utilization",
     &Profile::default_gpu_memory_utilization,
     "gpu_memory_utilization {}",
     ""},
    {"non_torch_gib", &Profile::non_torch_gib, "libraries take {} GiB", ""},
    {"fused_all_reduce_gib",
     &Profile::fused_all_reduce_gib,
     "fused all-reduces take {} GiB more",
     ""},
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

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

document::Node value_of(const Rule& rule, const Profile& profile) {
  if (const auto* is_on = std::get_if<bool Profile::*>(&rule.member)) {
    return document::bool_node(profile.*(*is_on));
  }
  if (const auto* number = std::get_if<double Profile::*>(&rule.member)) {
    return document::number_node(profile.*(*number));
  }
  return document::text_node(kGraphSizeWords.at(static_cast<std::size_t>(profile.graph_sizes)));
}

std::string text_of(const Rule& rule, const Profile& profile) {
  if (const auto* is_on = std::get_if<bool Profile::*>(&rule.member)) {
    return std::string(profile.*(*is_on) ? rule.if_on : rule.if_off);
  }
  if (const auto* number = std::get_if<double Profile::*>(&rule.member)) {
    return fmt::format(fmt::runtime(rule.if_on), profile.*(*number));
  }
  return std::string(text_of(profile.graph_sizes));
}

core::Result<Profile> with_rule(Profile profile,
                                std::string_view name,
                                const document::Node& value) {
  const auto refuse = [&](std::string message, std::string hint) {
    return core::fail(core::Error{
        .message = std::move(message), .where = value.where(), .hint = std::move(hint)});
  };
  const auto* const rule = std::ranges::find(kRules, name, &Rule::name);
  if (rule == kRules.end()) {
    std::vector<std::string> names;
    for (const Rule& known : kRules) {
      names.emplace_back(known.name);
    }
    const auto near = document::nearest(name, names);
    return refuse(fmt::format("\"{}\" is no rule of vLLM's versions", name),
                  near ? fmt::format("did you mean '{}'?", *near) : std::string());
  }
  const auto expected = [&](std::string_view what) {
    return refuse(fmt::format("found {}, expected {}", value.describe(), what), {});
  };
  if (const auto* is_on = std::get_if<bool Profile::*>(&rule->member)) {
    if (value.kind() != document::Node::Kind::kBool) {
      return expected("true or false");
    }
    profile.*(*is_on) = value.as_bool();
  } else if (const auto* number = std::get_if<double Profile::*>(&rule->member)) {
    if (!value.is_number() || value.as_real() < 0.0) {
      return expected("a number from 0");
    }
    profile.*(*number) = value.as_real();
  } else {
    const auto* const word = value.is_string()
                                 ? std::ranges::find(kGraphSizeWords, value.as_string())
                                 : kGraphSizeWords.end();
    if (word == kGraphSizeWords.end()) {
      return expected(fmt::format("one of {}", fmt::join(kGraphSizeWords, ", ")));
    }
    profile.graph_sizes = static_cast<GraphSizes>(word - kGraphSizeWords.begin());
  }
  return profile;
}

}  // namespace ridgeline::engine
