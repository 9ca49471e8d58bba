#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cluster/admission/rules.hpp"
#include "cluster/admission/token_bucket.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "lab/conform/decisions/decision_case.hpp"
#include "lab/conform/decisions/part.hpp"
#include "lab/conform/decisions/systems.hpp"
#include "routing/choice.hpp"
#include "routing/filters.hpp"
#include "routing/no_hit_lru.hpp"
#include "routing/prefix_table.hpp"
#include "routing/scorers/registry.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::conform {
namespace {

/// Normalised weights, as inference-sim has them.
bool check_weighted(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const auto scorers = recorded.params().at("scorers").members();
  double weights = 0.0;
  for (const auto& [name, weight] : scorers) {
    weights += weight.number();
  }
  routing::Scores sums(all.size(), 0.0);
  for (const auto& [name, weight] : scorers) {
    routing::Scores scores;
    if (name == "lora-affinity") {
      scores = routing::resident_adapter_scores(all, recorded.request().word("adapter"));
    } else if (const auto* scorer = routing::find_scorer(name); scorer != nullptr) {
      scores = scorer->make({})(all, {});
    } else {
      return false;
    }
    routing::add_weighted(sums, scores, weight.number() / weights);
  }
  const auto ids = recorded.endpoint_ids();
  recorded.check_scores("weighted scores", recorded.expected().at("weighted_scores"), ids, sums);
  recorded.check_places("picks", recorded.expected().at("picks"), ids, routing::highest(sums));
  return true;
}

bool check_least_loaded(DecisionCase& recorded) {
  std::vector<std::int64_t> loads;
  for (const auto& one : recorded.candidates()) {
    loads.push_back(-(one.gauges.waiting + one.gauges.running + one.inflight_requests));
  }
  recorded.check_places(
      "picks", recorded.expected().at("picks"), recorded.endpoint_ids(), routing::highest(loads));
  return true;
}

/// The best scores of a step; it goes to one of their endpoints.
std::size_t check_best(DecisionCase& recorded,
                       std::size_t i,
                       const Part& step,
                       const std::vector<std::string>& ids,
                       const routing::Scores& scores) {
  recorded.check_scores(fmt::format("step {}: score", i), step.at("weighted_scores"), ids, scores);
  return recorded.check_among(i, step.at("routed_to"), ids, routing::highest(scores));
}

bool check_prefix_affinity(DecisionCase& recorded) {
  const Part params = recorded.params();
  for (const auto& [name, weight] : params["scorers"].members()) {
    if (name != "prefix-affinity" || weight.number() <= 0.0) {
      weight.note_wrong("prefix-affinity alone");
    }
  }
  const std::int64_t block_tokens = std::max<std::int64_t>(params.at("block_size").count(), 1);
  const auto ids = numbered_ids("instance_", params.at("endpoints").size());
  routing::PrefixTable table(ids.size(),
                             static_cast<std::size_t>(params.count("lru_blocks_per_instance")));
  RecordedPrompts prompts;
  const std::vector<Part> steps = recorded.steps_with({"weighted_scores"});
  for (std::size_t i = 0; i < steps.size() && !ids.empty(); ++i) {
    const auto prompt = prompts.read(steps[i], "tokens");
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
    table.add(check_best(recorded, i, steps[i], ids, routing::prefix_scores(all)), {.keys = keys});
  }
  return true;
}

bool check_cold_requests(DecisionCase& recorded) {
  const auto ids = numbered_ids("instance_", recorded.params().at("endpoints").size());
  routing::NoHitLru lru(ids.size());
  const std::vector<Part> steps = recorded.steps_with({"weighted_scores"});
  for (std::size_t i = 0; i < steps.size() && !ids.empty(); ++i) {
    bool has_hit = false;
    for (const auto& [id, blocks] : steps[i]["cached_blocks"].members()) {
      has_hit = blocks.number() > 0.0 || has_hit;
    }
    const std::size_t routed_to = check_best(recorded, i, steps[i], ids, lru.scores(has_hit));
    if (!has_hit) {
      lru.give(routed_to);
    }
  }
  return true;
}

bool check_token_bucket(DecisionCase& recorded) {
  const Part params = recorded.params();
  admission::TokenBucket bucket(params.number("capacity"), params.number("refill_rate"));
  const std::vector<Part> steps = recorded.steps_with({"admitted"});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto at = core::SimTime::at(core::Duration::microseconds(steps[i].count("time_us")));
    recorded.check_flag(fmt::format("step {}: admitted", i),
                        steps[i].at("admitted"),
                        bucket.take(steps[i].number("prompt_tokens"), at));
  }
  return true;
}

bool check_admission(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Part params = recorded.params();
  const std::int64_t priority = recorded.request().count("priority");
  bool admitted = true;
  if (recorded.policy() == "tier-shed") {
    const admission::TierShed tiers{.threshold = params.count("overload_threshold"),
                                    .lowest_priority = params.count("min_admit_priority")};
    admitted = tiers.admits(priority, all);
  } else {
    admitted = admission::admitted_below_saturation(
        priority,
        routing::utilization_saturation(all,
                                        std::vector<bool>(all.size(), false),
                                        {.queue_depth = params.number("queue_depth_threshold"),
                                         .kv_usage = params.number("kv_threshold")}));
  }
  recorded.check_flag("admitted", recorded.expected().at("admitted"), admitted);
  return true;
}

bool check_threshold(DecisionCase& recorded) {
  const Part params = recorded.params();
  const auto all = recorded.candidates();
  const std::int64_t cached =
      all.empty() ? 0 : all.front().prefix.matched * params.count("block_size");
  const bool apart =
      disaggregation::make_prefix_threshold(
          {.non_cached_tokens = core::Tokens(params.count("threshold"))})
          ->disaggregates({.tokens = core::Tokens(recorded.request().count("prompt_tokens")),
                           .cached_on_decode = core::Tokens(cached)});
  recorded.check_flag("disaggregate", recorded.expected().at("disaggregate"), apart);
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

}  // namespace ridgeline::conform
