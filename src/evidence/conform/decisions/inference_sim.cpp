#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "admission/rules.hpp"
#include "admission/token_bucket.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "disaggregation/deciders/deciders.hpp"
#include "document/document.hpp"
#include "evidence/conform/decisions/decision_case.hpp"
#include "evidence/conform/decisions/systems.hpp"
#include "routing/choice.hpp"
#include "routing/filters.hpp"
#include "routing/no_hit_lru.hpp"
#include "routing/prefix_table.hpp"
#include "routing/scorers/registry.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::evidence::conform {
namespace {

using document::Node;

/// Normalised weights, as inference-sim has them.
bool check_weighted(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const auto& scorers = part_of(recorded.params(), "scorers").members();
  double weights = 0.0;
  for (const auto& member : scorers) {
    weights += member.value.as_real();
  }
  routing::Scores sums(all.size(), 0.0);
  for (const auto& member : scorers) {
    routing::Scores scores;
    if (member.key == "lora-affinity") {
      scores = routing::resident_adapter_scores(all, word_of(recorded.request(), "adapter"));
    } else if (const auto* scorer = routing::find_scorer(member.key); scorer != nullptr) {
      scores = scorer->make({})(all, {});
    } else {
      return false;
    }
    routing::add_weighted(sums, scores, member.value.as_real() / weights);
  }
  const auto ids = recorded.endpoint_ids();
  recorded.check_scores(
      "weighted scores", part_of(recorded.expected(), "weighted_scores"), ids, sums);
  recorded.check_places(
      "picks", items_of(recorded.expected(), "picks"), ids, routing::highest(sums));
  return true;
}

bool check_least_loaded(DecisionCase& recorded) {
  std::vector<std::int64_t> loads;
  for (const auto& one : recorded.candidates()) {
    loads.push_back(-(one.gauges.waiting + one.gauges.running + one.inflight_requests));
  }
  recorded.check_places("picks",
                        items_of(recorded.expected(), "picks"),
                        recorded.endpoint_ids(),
                        routing::highest(loads));
  return true;
}

bool check_prefix_affinity(DecisionCase& recorded) {
  const Node& params = recorded.params();
  const std::int64_t block_tokens = count_of(params, "block_size");
  const auto ids = numbered_ids("instance_", count_of(params, "endpoints"));
  routing::PrefixTable table(ids.size(),
                             static_cast<std::size_t>(count_of(params, "lru_blocks_per_instance")));
  RecordedPrompts prompts;
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    const auto prompt = prompts.read(step, "tokens");
    // Whole blocks alone.
    const auto keys = routing::block_keys(
        prompt.chain, prompt.length / block_tokens * block_tokens, block_tokens, prompt.length);
    std::vector<routing::Candidate> all(ids.size());
    const auto matches = table.matches({.keys = keys});
    for (std::size_t place = 0; place < ids.size(); ++place) {
      all[place].prefix = {.matched = matches[place],
                           .total = static_cast<std::int64_t>(keys.size()),
                           .block_tokens = block_tokens};
    }
    recorded.check_scores(fmt::format("step {}: score", i),
                          part_of(step, "weighted_scores"),
                          ids,
                          routing::prefix_scores(all));
    table.add(place_of(ids, word_of(step, "routed_to")), {.keys = keys});
  }
  return true;
}

bool check_cold_requests(DecisionCase& recorded) {
  const auto ids = numbered_ids("instance_", count_of(recorded.params(), "endpoints"));
  routing::NoHitLru lru(ids.size());
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    const auto& cached = part_of(step, "cached_blocks").members();
    const bool has_hit = std::ranges::any_of(
        cached, [](const auto& member) { return member.value.as_real() > 0.0; });
    recorded.check_scores(fmt::format("step {}: score", i),
                          part_of(step, "weighted_scores"),
                          ids,
                          lru.scores(has_hit));
    if (!has_hit) {
      lru.give(place_of(ids, word_of(step, "routed_to")));
    }
  }
  return true;
}

bool check_token_bucket(DecisionCase& recorded) {
  const Node& params = recorded.params();
  admission::TokenBucket bucket(number_of(params, "capacity"), number_of(params, "refill_rate"));
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    const auto at = core::SimTime::at(core::Duration::microseconds(count_of(step, "time_us")));
    recorded.check_text(fmt::format("step {}: admitted", i),
                        fmt::format("{}", flag_of(step, "admitted")),
                        fmt::format("{}", bucket.take(number_of(step, "prompt_tokens"), at)));
  }
  return true;
}

bool check_admission(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Node& params = recorded.params();
  const std::int64_t priority = count_of(recorded.request(), "priority");
  bool admitted = true;
  if (recorded.policy() == "tier-shed") {
    const admission::TierShed tiers{.threshold = count_of(params, "overload_threshold"),
                                    .lowest_priority = count_of(params, "min_admit_priority")};
    admitted = tiers.admits(priority, all);
  } else {
    admitted = admission::admitted_below_saturation(
        priority,
        routing::utilization_saturation(all,
                                        std::vector<bool>(all.size(), false),
                                        {.queue_depth = number_of(params, "queue_depth_threshold"),
                                         .kv_usage = number_of(params, "kv_threshold")}));
  }
  recorded.check_text("admitted",
                      fmt::format("{}", flag_of(recorded.expected(), "admitted")),
                      fmt::format("{}", admitted));
  return true;
}

bool check_threshold(DecisionCase& recorded) {
  const Node& params = recorded.params();
  const auto all = recorded.candidates();
  const std::int64_t cached =
      all.empty() ? 0 : all.front().prefix.matched * count_of(params, "block_size");
  const bool apart =
      disaggregation::make_prefix_threshold(
          {.non_cached_tokens = core::Tokens(count_of(params, "threshold"))})
          ->disaggregates({.tokens = core::Tokens(count_of(recorded.request(), "prompt_tokens")),
                           .cached_on_decode = core::Tokens(cached)});
  recorded.check_text("disaggregate",
                      fmt::format("{}", flag_of(recorded.expected(), "disaggregate")),
                      fmt::format("{}", apart));
  return true;
}

}  // namespace

bool check_inference_sim(DecisionCase& recorded) {
  const std::string policy = recorded.policy();
  if (policy == "scorer/prefix-affinity") {
    return check_prefix_affinity(recorded);
  }
  if (policy == "scorer/no-hit-lru") {
    return check_cold_requests(recorded);
  }
  if (policy == "weighted" || policy.starts_with("scorer/")) {
    return check_weighted(recorded);
  }
  if (policy == "least-loaded") {
    return check_least_loaded(recorded);
  }
  if (policy == "token-bucket") {
    return check_token_bucket(recorded);
  }
  if (policy == "gaie-legacy" || policy == "tier-shed") {
    return check_admission(recorded);
  }
  if (policy == "prefix-threshold-decider") {
    return check_threshold(recorded);
  }
  return check_autoscaler(recorded);
}

}  // namespace ridgeline::evidence::conform
