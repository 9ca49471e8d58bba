#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rapidcheck.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::test {

/// What a scenario may contain beyond what the fast twin does itself.
struct Features {
  /// Priorities, adapter caps, drafts, cache groups, pipeline depth, structured outputs.
  bool handed_over = false;
  bool aborts = false;
};

/// A small workload on a small engine, in corners that a real one seldom sees: few blocks, few
/// seats, budgets of a token, every engine profile.
struct Scenario {
  engine::EngineOptions options;
  engine::HostTime host;
  LinearModel::Costs costs;
  std::vector<domain::Request> requests;
  std::vector<Abort> aborts;
};

/// What the fast twin hands over to the other one, mixed.
inline void add_handed_over(engine::EngineOptions& options) {
  using rc::gen::element;
  using rc::gen::inRange;
  if (*element(false, true)) {
    options.policy = engine::SchedulingPolicy::kPriority;
  }
  options.max_loras = *element<std::int64_t>(0, 0, 1, 2);
  if (*element(false, true)) {
    options.num_speculative_tokens = *inRange<std::int64_t>(1, 4);
    options.draft_method = *element(
        engine::DraftMethod::kEagle, engine::DraftMethod::kNgram, engine::DraftMethod::kDraftModel);
    // A draft model reads a token of the budget itself (scenario::resolve refuses less).
    options.max_num_batched_tokens = std::max(options.max_num_batched_tokens, core::Tokens(2));
    options.draft_acceptance = *element(
        std::vector<double>{}, std::vector<double>{0.7}, std::vector<double>{0.9, 0.5, 0.2});
    if (*element(false, false, true)) {
      options.draft_levels = {
          {.most_requests = *inRange<std::int64_t>(1, 4), .drafts = options.num_speculative_tokens},
          {.most_requests = 8,
           .drafts = *inRange<std::int64_t>(0, options.num_speculative_tokens + 1)}};
    }
    options.acceptance_seed = *inRange<std::uint64_t>(0, 1000);
    // scenario::resolve refuses less.
    const auto holds_drafts = [&](core::Tokens tokens) {
      return tokens == core::Tokens(0) || tokens.value() >= options.num_speculative_tokens;
    };
    options.drafts_read_ahead = holds_drafts(options.max_num_batched_tokens) &&
                                holds_drafts(options.max_num_scheduled_tokens) &&
                                holds_drafts(options.long_prefill_token_threshold) &&
                                *element(false, true);
  }
  const engine::CacheGroup window{.sliding_window = core::Tokens(*inRange<std::int64_t>(2, 40))};
  options.cache_groups = *element(std::vector{engine::CacheGroup{}},
                                  std::vector{engine::CacheGroup{}},
                                  std::vector{engine::CacheGroup{}, window},
                                  std::vector{window});
  if (*element(false, true)) {
    options.prefix_cache_retention_interval =
        core::Tokens(*element<std::int64_t>(0, *inRange<std::int64_t>(1, 60)));
  }
  options.pipeline_depth = *element<std::int64_t>(0, 0, 0, 3);
  options.second_runner = *element(false, true);
  options.kv_consumer = *element(false, false, true);
  options.max_num_active_seqs = *element<std::int64_t>(0, 0, *inRange<std::int64_t>(1, 9));
  options.prefill_schedule_interval = *element<std::int64_t>(1, 1, *inRange<std::int64_t>(2, 6));
  options.long_prefill_token_threshold_adaptive = *element(false, true);
  if (*element(false, false, true)) {
    options.grammars = engine::GrammarTimes{
        .compile = core::Duration::microseconds(*element<std::int64_t>(0, 700, 30'000)),
        .mask = core::Duration::microseconds(*element<std::int64_t>(0, 40, 900, 5000))};
  }
  // scenario::resolve refuses budgets below a block beside states, and drafts.
  const auto holds_block = [&](core::Tokens tokens) {
    return tokens == core::Tokens(0) || tokens >= options.block_size;
  };
  if (options.enable_prefix_caching && options.num_speculative_tokens == 0 &&
      holds_block(options.max_num_batched_tokens) &&
      holds_block(options.max_num_scheduled_tokens) &&
      holds_block(options.long_prefill_token_threshold) && *element(false, true)) {
    options.cache_groups = {
        engine::CacheGroup{},
        engine::CacheGroup{.sliding_window = core::Tokens(2), .keeps_states = true}};
  }
}

inline engine::EngineOptions random_options(const Features& features) {
  using rc::gen::arbitrary;
  using rc::gen::element;
  using rc::gen::inRange;
  engine::EngineOptions options;
  options.block_size = core::Tokens(*element<std::int64_t>(1, 4, 16));
  options.max_num_seqs = *inRange<std::int64_t>(1, 9);
  options.max_num_batched_tokens = core::Tokens(*inRange<std::int64_t>(1, 80));
  options.max_model_len = core::Tokens(*inRange<std::int64_t>(8, 160));
  options.long_prefill_token_threshold = core::Tokens(*element<std::int64_t>(0, 0, 0, 5, 20));
  options.enable_prefix_caching = *arbitrary<bool>();
  options.async_scheduling = *arbitrary<bool>();
  options.enable_chunked_prefill = *element(true, true, true, false);
  if (!options.enable_chunked_prefill) {
    options.max_num_batched_tokens = options.max_model_len;
  }
  if (options.enable_chunked_prefill && *element(false, false, true)) {
    options.max_num_scheduled_tokens =
        core::Tokens(*inRange<std::int64_t>(1, options.max_num_batched_tokens.value() + 1));
  }
  const auto profiles = engine::profiles();
  options.profile = profiles[*inRange<std::size_t>(0, profiles.size())];
  options.profile.watermark = *element(0.0, 0.0, 0.1);
  if (features.handed_over) {
    add_handed_over(options);
  }
  const std::int64_t longest =
      static_cast<std::int64_t>(options.cache_groups.size()) *
      (core::ceil_div(options.max_model_len, options.block_size) + (features.handed_over ? 2 : 0));
  options.num_gpu_blocks = core::Blocks(1 + longest + *inRange<std::int64_t>(0, 2 * longest));
  options.log_steps = true;
  return options;
}

/// One of a few documents, or what an earlier request was asked or answered (as in a dialogue),
/// whether that has ended by then or not.
inline std::uint64_t random_content(std::uint32_t requests_so_far) {
  const auto kind = *rc::gen::element(0, 0, 0, 0, 1, 2);
  if (kind == 0 || requests_so_far < 2) {
    return *rc::gen::inRange<std::uint64_t>(1, 4);
  }
  const core::RequestId earlier(*rc::gen::inRange<std::uint32_t>(0, requests_so_far - 1));
  return kind == 1 ? domain::output_content(earlier) : domain::unique_content(earlier);
}

/// Goes on where an earlier request stopped, at its prompt or somewhere in its answer, whether that
/// has been computed by then or not: `request` states all of that and adds something of its own.
inline void continue_dialogue(const domain::Request& earlier, domain::Request& request) {
  core::Tokens stated;
  request.prompt = earlier.prompt;
  for (const domain::Segment& piece : earlier.prompt) {
    stated += piece.length;
  }
  if (stated < earlier.prompt_tokens) {
    request.prompt.push_back({domain::unique_content(earlier.id), earlier.prompt_tokens - stated});
  }
  const core::Tokens answer(*rc::gen::inRange<std::int64_t>(0, earlier.output_tokens.value() + 1));
  if (answer > core::Tokens(0)) {
    request.prompt.push_back({domain::output_content(earlier.id), answer});
  }
  request.lora = earlier.lora;
  request.prompt_tokens =
      earlier.prompt_tokens + answer + core::Tokens(*rc::gen::inRange<std::int64_t>(0, 20));
}

inline std::vector<domain::Request> random_requests(const Features& features) {
  using rc::gen::arbitrary;
  using rc::gen::element;
  using rc::gen::inRange;
  std::vector<domain::Request> requests(*inRange<std::size_t>(1, 20));
  const auto spread = *element<std::int64_t>(0, 2000, 20000, 400000);
  const bool shares = *arbitrary<bool>();
  const bool talks = *element(false, false, true);
  core::SimTime arrival;
  std::uint32_t id = 0;
  for (domain::Request& request : requests) {
    request.id = core::RequestId(id++);
    arrival += core::Duration::microseconds(*inRange<std::int64_t>(0, spread + 1));
    request.arrival = arrival;
    request.prompt_tokens = core::Tokens(*inRange<std::int64_t>(1, 100));
    request.output_tokens = core::Tokens(*inRange<std::int64_t>(1, 90));
    request.max_tokens = request.output_tokens + core::Tokens(*element<std::int64_t>(0, 0, 0, 3));
    if (*element(false, false, true)) {
      request.lora = core::LoraId(*inRange<std::uint32_t>(0, 3));
    }
    constexpr std::uint32_t kLabelSets = 5;
    request.label_set = core::LabelSetId(id % kLabelSets);
    request.priority = features.handed_over ? *inRange<std::int32_t>(-1, 3) : 0;
    std::int64_t left = request.prompt_tokens.value();
    while (shares && left > 0 && *element(0, 1, 1) == 1) {
      const std::int64_t length = std::min(left, *element<std::int64_t>(3, 16, 32, 48));
      request.prompt.push_back({random_content(id), core::Tokens(length)});
      left -= length;
    }
    if (talks && id > 1 && *element(false, true, true)) {
      continue_dialogue(requests[*inRange<std::size_t>(0, id - 1)], request);
    }
  }
  return requests;
}

/// Some clients give up, before or after their request has ended.
inline std::vector<Abort> random_aborts(const std::vector<domain::Request>& requests) {
  std::vector<Abort> aborts;
  for (const domain::Request& request : requests) {
    if (*rc::gen::element(false, true)) {
      const auto wait = *rc::gen::element<std::int64_t>(0, 5'000, 200'000, 2'000'000);
      const auto patience = *rc::gen::inRange<std::int64_t>(0, wait + 1);
      aborts.push_back(
          {.at = request.arrival + core::Duration::microseconds(patience), .id = request.id});
    }
  }
  std::stable_sort(
      aborts.begin(), aborts.end(), [](const Abort& a, const Abort& b) { return a.at < b.at; });
  return aborts;
}

inline Scenario random_scenario(const Features& features = {}) {
  using rc::gen::element;
  Scenario scenario;
  scenario.options = random_options(features);
  scenario.host.per_step = core::Duration::microseconds(*element<std::int64_t>(0, 50, 3000));
  scenario.host.per_sequence = core::Duration::microseconds(*element<std::int64_t>(0, 15));
  scenario.host.per_answer = core::Duration::microseconds(*element<std::int64_t>(0, 0, 40, 900));
  scenario.costs.per_context = core::Duration::microseconds(*element<std::int64_t>(0, 1, 7));
  scenario.costs.bin = *element<std::int64_t>(0, 0, 64);
  scenario.costs.affine = *element(true, true, true, false);
  scenario.requests = random_requests(features);
  for (domain::Request& request : scenario.requests) {
    if (scenario.options.grammars && *element(false, true)) {
      request.grammar = core::GrammarId(*rc::gen::inRange<std::uint32_t>(0, 3));
    }
  }
  if (features.aborts) {
    scenario.aborts = random_aborts(scenario.requests);
  }
  return scenario;
}

inline EngineRun run_scenario(const Scenario& scenario,
                              Twin twin,
                              core::SimTime horizon = core::SimTime::last()) {
  return run_engine(scenario.options,
                    LinearModel(scenario.costs),
                    scenario.host,
                    scenario.requests,
                    twin,
                    scenario.aborts,
                    horizon);
}

}  // namespace ridgeline::test
