#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "admission/rules.hpp"
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

/// "0-4096"; nothing for an endpoint without the label.
std::optional<routing::ContextRange> context_range(const Node& endpoint) {
  const std::string text = word_of(endpoint, "context_range");
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  return routing::ContextRange{.lowest = std::atoll(text.substr(0, dash).c_str()),
                               .highest = std::atoll(text.substr(dash + 1).c_str())};
}

std::optional<routing::Scores> scores_of(const DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Node& params = recorded.params();
  const std::string policy = recorded.policy();
  if (policy == "load-aware-scorer") {
    return routing::load_aware_scores(all, number_of(params, "threshold", 128.0));
  }
  if (policy == "active-request-scorer") {
    return routing::active_request_scores(
        all, count_of(params, "idleThreshold"), number_of(params, "maxBusyScore", 1.0));
  }
  if (policy == "token-load-scorer") {
    return routing::token_load_scores(all, number_of(params, "queueThresholdTokens", 4'194'304.0));
  }
  if (policy == "prefix-cache-scorer") {
    return routing::prefix_scores(all,
                                  number_of(params, "matchLengthWeight"),
                                  number_of(params, "matchLengthScaleTokens", 8192.0));
  }
  if (policy == "lora-affinity-scorer") {
    return routing::lora_affinity_scores(all, word_of(recorded.request(), "adapter"));
  }
  if (policy == "latency-scorer") {
    return routing::latency_scores(
        all,
        {.ttft = number_of(params, "ttftWeight", 0.8),
         .tpot = number_of(params, "tpotWeight", 0.2),
         .most_headroom = word_of(params, "headroomSelectionStrategy") == "most",
         .kv = number_of(params, "compositeKVWeight", 1.0),
         .queue = number_of(params, "compositeQueueWeight", 1.0),
         .prefix = number_of(params, "compositePrefixWeight", 1.0)});
  }
  if (policy == "context-length-aware") {
    routing::Scores scores;
    for (const Node& endpoint : recorded.endpoints()) {
      scores.push_back(routing::context_length_score(
          context_range(endpoint), count_of(recorded.request(), "prompt_tokens")));
    }
    return scores;
  }
  const auto* scorer = routing::find_scorer(policy);
  return scorer == nullptr ? std::nullopt : std::optional(scorer->make({})(all, {}));
}

bool check_profile(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  routing::Scores sums(all.size(), 0.0);
  for (const auto& [name, weight, where] : part_of(recorded.params(), "scorers").members()) {
    const auto* scorer = routing::find_scorer(name);
    if (scorer == nullptr) {
      return false;
    }
    routing::add_weighted(sums, scorer->make({})(all, {}), weight.as_real());
  }
  const auto ids = recorded.endpoint_ids();
  recorded.check_scores(
      "weighted scores", part_of(recorded.expected(), "weighted_scores"), ids, sums);
  recorded.check_places(
      "picks", items_of(recorded.expected(), "picks"), ids, routing::highest(sums));
  return true;
}

bool check_filter(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Node& params = recorded.params();
  routing::Places kept;
  if (recorded.policy() == "prefix-cache-affinity-filter") {
    kept = routing::sticky_candidates(
        all,
        {.threshold = number_of(params, "affinityThreshold", 0.8),
         .max_penalty_ms = number_of(params, "maxTTFTPenaltyMs", 18e3),
         .prefill_rate = number_of(params, "peakPrefillThroughput", 15'928.0)});
  } else {
    std::vector<routing::UtilizationLimit> limits;
    for (const Node& condition : items_of(params, "conditions")) {
      const std::string metric = word_of(condition, "metric");
      limits.push_back({.metric = metric == "waiting-queue"      ? routing::Utilization::kWaiting
                                  : metric == "running-requests" ? routing::Utilization::kRunning
                                  : metric == "kv-cache-utilization"
                                      ? routing::Utilization::kKvUsage
                                      : routing::Utilization::kInFlight,
                        .highest = number_of(condition, "maxValue")});
    }
    kept = routing::within_limits(all, limits, flag_of(params, "fallbackOnEmpty"));
  }
  recorded.check_places(
      "kept", items_of(recorded.expected(), "kept"), recorded.endpoint_ids(), kept);
  return true;
}

bool check_saturation(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Node& params = recorded.params();
  double saturation = 0.0;
  routing::Places kept;
  if (recorded.policy() == "utilization-detector") {
    std::vector<bool> stale;
    for (const Node& endpoint : recorded.endpoints()) {
      stale.push_back(number_of(endpoint, "age_ms", 1e300) >
                      number_of(params, "metricsStalenessThreshold_ms", 200.0));
    }
    const routing::UtilizationThresholds thresholds{
        .queue_depth = number_of(params, "queueDepthThreshold", 5.0),
        .kv_usage = number_of(params, "kvCacheUtilThreshold", 0.8),
        .headroom = number_of(params, "headroom")};
    saturation = routing::utilization_saturation(all, stale, thresholds);
    kept = routing::unsaturated(all, stale, thresholds);
  } else {
    const std::string mode = word_of(params, "concurrencyMode");
    const routing::ConcurrencyLimits limits{
        .mode = mode == "requests" ? routing::Concurrency::kRequests
                : mode == "tokens" ? routing::Concurrency::kTokens
                                   : routing::Concurrency::kHybrid,
        .requests = number_of(params, "maxConcurrency", 100.0),
        .tokens = number_of(params, "maxTokenConcurrency", 1e6),
        .headroom = number_of(params, "headroom")};
    saturation = routing::concurrency_saturation(all, limits);
    kept = routing::below_concurrency(all, limits);
  }
  recorded.check_number("saturation", number_of(recorded.expected(), "saturation"), saturation);
  recorded.check_places(
      "kept", items_of(recorded.expected(), "kept"), recorded.endpoint_ids(), kept);
  return true;
}

bool check_ceilings(DecisionCase& recorded) {
  std::vector<std::int64_t> priorities;
  for (const Node& priority : items_of(recorded.request(), "priorities")) {
    priorities.push_back(priority.as_integer());
  }
  const Node& params = recorded.params();
  const auto ceilings = admission::priority_ceilings(priorities,
                                                     number_of(params, "minCeiling"),
                                                     number_of(params, "maxCeiling", 1.0),
                                                     word_of(params, "domain") == "value");
  const auto& theirs = items_of(recorded.expected(), "ceilings");
  recorded.check_number(
      "ceilings", static_cast<double>(theirs.size()), static_cast<double>(ceilings.size()));
  for (std::size_t i = 0; i < theirs.size() && i < ceilings.size(); ++i) {
    recorded.check_number(fmt::format("ceiling {}", i), theirs[i].as_real(), ceilings[i]);
  }
  return true;
}

bool check_admitter(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Node& params = recorded.params();
  const double saturation =
      routing::utilization_saturation(all,
                                      std::vector<bool>(all.size(), false),
                                      {.queue_depth = number_of(params, "queueDepthThreshold", 5.0),
                                       .kv_usage = number_of(params, "kvCacheUtilThreshold", 0.8)});
  const admission::ProbabilisticAdmitter admitter{.k = number_of(params, "k", 300.0),
                                                  .power = number_of(params, "power", 5.0)};
  const bool admitted = admitter.admits(count_of(recorded.request(), "priority"),
                                        saturation,
                                        number_of(recorded.request(), "uniform"));
  recorded.check_text("admitted",
                      fmt::format("{}", flag_of(recorded.expected(), "admitted")),
                      fmt::format("{}", admitted));
  return true;
}

bool check_decider(DecisionCase& recorded) {
  const Node& params = recorded.params();
  const auto decider = disaggregation::make_prefix_based(
      {.non_cached_tokens = core::Tokens(count_of(params, "nonCachedTokens")),
       .min_prompt_tokens = core::Tokens(count_of(params, "promptTokens"))});
  const auto all = recorded.candidates();
  const routing::PrefixMatch match = all.empty() ? routing::PrefixMatch{} : all.front().prefix;
  const bool apart = decider->disaggregates(
      {.tokens = core::Tokens(count_of(recorded.request(), "prompt_tokens")),
       .cached_on_decode = core::Tokens(match.matched * match.block_tokens)});
  recorded.check_text("disaggregate",
                      fmt::format("{}", flag_of(recorded.expected(), "disaggregate")),
                      fmt::format("{}", apart));
  return true;
}

bool check_no_hit_lru(DecisionCase& recorded) {
  const std::int64_t count = count_of(recorded.params(), "endpoints");
  const auto ids = numbered_ids("e", count);
  routing::NoHitLru lru(static_cast<std::size_t>(count),
                        static_cast<std::size_t>(count_of(recorded.params(), "lruSize", 1024)));
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    const bool cold = flag_of(step, "cold");
    recorded.check_scores(
        fmt::format("step {}: score", i), part_of(step, "scores"), ids, lru.scores(!cold));
    if (cold) {
      lru.give(place_of(ids, word_of(step, "routed_to")));
    }
  }
  return true;
}

bool check_prefix_table(DecisionCase& recorded) {
  constexpr std::int64_t kFewestTokens = 64;
  const Node& params = recorded.params();
  const std::int64_t block_tokens = std::max(kFewestTokens, count_of(params, "blockSizeTokens"));
  std::vector<std::string> ids;
  for (const Node& step : recorded.steps()) {
    for (const auto& member : part_of(step, "match_blocks").members()) {
      if (place_of(ids, member.key) == ids.size()) {
        ids.push_back(member.key);
      }
    }
  }
  routing::PrefixTable table(ids.size(),
                             static_cast<std::size_t>(count_of(params, "lruCapacityPerServer")));
  RecordedPrompts prompts;
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    const auto prompt = prompts.read(step, "tokens");
    const auto keys = routing::block_keys(
        prompt.chain, prompt.length, block_tokens, count_of(params, "maxPrefixTokensToMatch"));
    const auto matches = table.matches({.keys = keys});
    recorded.check_scores(fmt::format("step {}: matched blocks", i),
                          part_of(step, "match_blocks"),
                          ids,
                          {matches.begin(), matches.end()});
    recorded.check_number(fmt::format("step {}: blocks", i),
                          number_of(step, "total_blocks"),
                          static_cast<double>(keys.size()));
    table.add(place_of(ids, word_of(step, "routed_to")), {.keys = keys});
  }
  return true;
}

}  // namespace

bool check_llm_d(DecisionCase& recorded) {
  const std::string policy = recorded.policy();
  if (policy.starts_with("profile/")) {
    return check_profile(recorded);
  }
  if (policy.ends_with("-filter")) {
    return check_filter(recorded);
  }
  if (policy.ends_with("-detector")) {
    return check_saturation(recorded);
  }
  if (policy == "priority-holdback-policy") {
    return check_ceilings(recorded);
  }
  if (policy == "probabilistic-admitter") {
    return check_admitter(recorded);
  }
  if (policy == "prefix-based-pd-decider") {
    return check_decider(recorded);
  }
  if (policy == "no-hit-lru-scorer") {
    return check_no_hit_lru(recorded);
  }
  if (policy == "approx-prefix-cache-producer") {
    return check_prefix_table(recorded);
  }
  const auto scores = scores_of(recorded);
  if (scores) {
    recorded.check_scores(
        "score", part_of(recorded.expected(), "scores"), recorded.endpoint_ids(), *scores);
  }
  return scores.has_value();
}

}  // namespace ridgeline::evidence::conform
