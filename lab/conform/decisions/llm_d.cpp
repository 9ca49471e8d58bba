#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/admission/rules.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
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

/// "0-4096"; nothing for an endpoint without the label.
std::optional<routing::ContextRange> context_range(const Part& endpoint) {
  const std::string text = endpoint.word("context_range");
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  return routing::ContextRange{.lowest = std::atoll(text.substr(0, dash).c_str()),
                               .highest = std::atoll(text.substr(dash + 1).c_str())};
}

std::optional<routing::Scores> scores_of(const DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Part params = recorded.params();
  const std::string policy = recorded.policy();
  if (policy == "load-aware-scorer") {
    return routing::load_aware_scores(all, params.number("threshold", 128.0));
  }
  if (policy == "active-request-scorer") {
    return routing::active_request_scores(
        all, params.count("idleThreshold"), params.number("maxBusyScore", 1.0));
  }
  if (policy == "token-load-scorer") {
    return routing::token_load_scores(all, params.number("queueThresholdTokens", 4'194'304.0));
  }
  if (policy == "prefix-cache-scorer") {
    return routing::prefix_scores(
        all, params.number("matchLengthWeight"), params.number("matchLengthScaleTokens", 8192.0));
  }
  if (policy == "lora-affinity-scorer") {
    return routing::lora_affinity_scores(all, recorded.request().word("adapter"));
  }
  if (policy == "latency-scorer") {
    constexpr auto kStrategies =
        std::to_array<std::pair<std::string_view, bool>>({{"least", false}, {"most", true}});
    return routing::latency_scores(
        all,
        {.ttft = params.number("ttftWeight", 0.8),
         .tpot = params.number("tpotWeight", 0.2),
         .most_headroom = params["headroomSelectionStrategy"].choice<bool>(kStrategies),
         .kv = params.number("compositeKVWeight", 1.0),
         .queue = params.number("compositeQueueWeight", 1.0),
         .prefix = params.number("compositePrefixWeight", 1.0)});
  }
  if (policy == "context-length-aware") {
    routing::Scores scores;
    for (const Part& endpoint : recorded.endpoints()) {
      scores.push_back(routing::context_length_score(context_range(endpoint),
                                                     recorded.request().count("prompt_tokens")));
    }
    return scores;
  }
  const auto* scorer = routing::find_scorer(policy);
  return scorer == nullptr ? std::nullopt : std::optional(scorer->make({})(all, {}));
}

bool check_profile(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  constexpr auto kPickers =
      std::to_array<std::pair<std::string_view, bool>>({{"max-score-picker", true}});
  static_cast<void>(recorded.params()["picker"].choice<bool>(kPickers));
  routing::Scores sums(all.size(), 0.0);
  for (const auto& [name, weight] : recorded.params().at("scorers").members()) {
    const auto* scorer = routing::find_scorer(name);
    if (scorer == nullptr) {
      return false;
    }
    routing::add_weighted(sums, scorer->make({})(all, {}), weight.number());
  }
  const auto ids = recorded.endpoint_ids();
  recorded.check_scores("weighted scores", recorded.expected().at("weighted_scores"), ids, sums);
  recorded.check_places("picks", recorded.expected().at("picks"), ids, routing::highest(sums));
  return true;
}

void check_kept(DecisionCase& recorded, const routing::Places& kept) {
  recorded.check_places("kept", recorded.expected().at("kept"), recorded.endpoint_ids(), kept);
}

bool check_sticky(DecisionCase& recorded) {
  const Part params = recorded.params();
  constexpr auto kSources =
      std::to_array<std::pair<std::string_view, bool>>({{"prefillThroughput", true}});
  static_cast<void>(params["ttftSource"].choice<bool>(kSources));
  if (params.number("explorationProbability") != 0.0) {
    params["explorationProbability"].note_wrong("0: with chance there is no one answer");
  }
  check_kept(recorded,
             routing::sticky_candidates(
                 recorded.candidates(),
                 {.threshold = params.number("affinityThreshold", 0.8),
                  .max_penalty_ms = params.number("maxTTFTPenaltyMs", 18e3),
                  .prefill_rate = params.number("peakPrefillThroughput", 15'928.0)}));
  return true;
}

bool check_utilization(DecisionCase& recorded) {
  using routing::Utilization;
  constexpr auto kMetrics = std::to_array<std::pair<std::string_view, Utilization>>(
      {{"waiting-queue", Utilization::kWaiting},
       {"running-requests", Utilization::kRunning},
       {"kv-cache-utilization", Utilization::kKvUsage},
       {"active-requests", Utilization::kInFlight}});
  const Part params = recorded.params();
  std::vector<routing::UtilizationLimit> limits;
  for (const Part& condition : params.at("conditions").items()) {
    limits.push_back({.metric = condition.at("metric").choice<Utilization>(kMetrics),
                      .highest = condition.at("maxValue").number()});
  }
  check_kept(recorded,
             routing::within_limits(recorded.candidates(), limits, params.flag("fallbackOnEmpty")));
  return true;
}

bool check_utilization_detector(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Part params = recorded.params();
  std::vector<bool> stale;
  const double most_ms = params.number("metricsStalenessThreshold_ms", 200.0);
  for (const Part& endpoint : recorded.endpoints()) {
    stale.push_back(endpoint.number("age_ms", 1e300) > most_ms);
  }
  const routing::UtilizationThresholds thresholds{
      .queue_depth = params.number("queueDepthThreshold", 5.0),
      .kv_usage = params.number("kvCacheUtilThreshold", 0.8),
      .headroom = params.number("headroom")};
  recorded.check_number("saturation",
                        recorded.expected().at("saturation"),
                        routing::utilization_saturation(all, stale, thresholds));
  check_kept(recorded, routing::unsaturated(all, stale, thresholds));
  return true;
}

bool check_concurrency_detector(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  using routing::Concurrency;
  constexpr auto kModes =
      std::to_array<std::pair<std::string_view, Concurrency>>({{"hybrid", Concurrency::kHybrid},
                                                               {"requests", Concurrency::kRequests},
                                                               {"tokens", Concurrency::kTokens}});
  const Part params = recorded.params();
  const routing::ConcurrencyLimits limits{
      .mode = params["concurrencyMode"].choice<Concurrency>(kModes),
      .requests = params.number("maxConcurrency", 100.0),
      .tokens = params.number("maxTokenConcurrency", 1e6),
      .headroom = params.number("headroom")};
  recorded.check_number("saturation",
                        recorded.expected().at("saturation"),
                        routing::concurrency_saturation(all, limits));
  check_kept(recorded, routing::below_concurrency(all, limits));
  return true;
}

bool check_ceilings(DecisionCase& recorded) {
  std::vector<std::int64_t> priorities;
  for (const Part& priority : recorded.request().at("priorities").items()) {
    priorities.push_back(priority.count());
  }
  constexpr auto kDomains =
      std::to_array<std::pair<std::string_view, bool>>({{"rank", false}, {"value", true}});
  const Part params = recorded.params();
  recorded.check_numbers("ceiling",
                         recorded.expected().at("ceilings"),
                         admission::priority_ceilings(priorities,
                                                      params.number("minCeiling"),
                                                      params.number("maxCeiling", 1.0),
                                                      params["domain"].choice<bool>(kDomains)));
  return true;
}

bool check_admitter(DecisionCase& recorded) {
  const auto all = recorded.candidates();
  const Part params = recorded.params();
  const double saturation =
      routing::utilization_saturation(all,
                                      std::vector<bool>(all.size(), false),
                                      {.queue_depth = params.number("queueDepthThreshold", 5.0),
                                       .kv_usage = params.number("kvCacheUtilThreshold", 0.8)});
  const admission::ProbabilisticAdmitter admitter{.k = params.number("k", 300.0),
                                                  .power = params.number("power", 5.0)};
  const bool admitted = admitter.admits(
      recorded.request().count("priority"), saturation, recorded.request().number("uniform"));
  recorded.check_flag("admitted", recorded.expected().at("admitted"), admitted);
  return true;
}

bool check_decider(DecisionCase& recorded) {
  const Part params = recorded.params();
  const auto decider = disaggregation::make_prefix_based(
      {.non_cached_tokens = core::Tokens(params.count("nonCachedTokens")),
       .min_prompt_tokens = core::Tokens(params.count("promptTokens"))});
  const auto all = recorded.candidates();
  const routing::PrefixMatch match = all.empty() ? routing::PrefixMatch{} : all.front().prefix;
  const bool apart = decider->disaggregates(
      {.tokens = core::Tokens(recorded.request().count("prompt_tokens")),
       .cached_on_decode = core::Tokens(match.matched * match.block_tokens)});
  recorded.check_flag("disaggregate", recorded.expected().at("disaggregate"), apart);
  return true;
}

bool check_no_hit_lru(DecisionCase& recorded) {
  const auto ids = numbered_ids("e", recorded.params().at("endpoints").size());
  routing::NoHitLru lru(ids.size(),
                        static_cast<std::size_t>(recorded.params().count("lruSize", 1024)));
  const std::vector<Part> steps = recorded.steps_with({"scores"});
  for (std::size_t i = 0; i < steps.size() && !ids.empty(); ++i) {
    const bool cold = steps[i].flag("cold");
    recorded.check_scores(
        fmt::format("step {}: score", i), steps[i].at("scores"), ids, lru.scores(!cold));
    const std::size_t routed_to = known_place(ids, steps[i].at("routed_to"));
    if (cold) {
      lru.give(routed_to);
    }
  }
  return true;
}

bool check_prefix_table(DecisionCase& recorded) {
  constexpr std::int64_t kFewestTokens = 64;
  const Part params = recorded.params();
  if (params.flag("autoTune")) {
    params["autoTune"].note_wrong("false: it takes the blocks of the server");
  }
  const std::int64_t block_tokens = std::max(kFewestTokens, params.count("blockSizeTokens"));
  const std::vector<Part> steps =
      recorded.steps_with({"match_blocks", "total_blocks", "block_tokens"});
  std::vector<std::string> ids;
  for (const Part& step : steps) {
    for (const auto& [id, blocks] : step["match_blocks"].members()) {
      if (place_of(ids, id) == ids.size()) {
        ids.push_back(id);
      }
    }
  }
  routing::PrefixTable table(ids.size(),
                             static_cast<std::size_t>(params.count("lruCapacityPerServer")));
  RecordedPrompts prompts;
  for (std::size_t i = 0; i < steps.size() && !ids.empty(); ++i) {
    const Part& step = steps[i];
    const auto prompt = prompts.read(step, "tokens");
    const auto keys = routing::block_keys(
        prompt.chain, prompt.length, block_tokens, params.count("maxPrefixTokensToMatch"));
    const auto matches = table.matches({.keys = keys});
    recorded.check_scores(fmt::format("step {}: matched blocks", i),
                          step.at("match_blocks"),
                          ids,
                          {matches.begin(), matches.end()});
    recorded.check_number(fmt::format("step {}: blocks", i),
                          step.at("total_blocks"),
                          static_cast<double>(keys.size()));
    recorded.check_number(fmt::format("step {}: tokens of a block", i),
                          step.at("block_tokens"),
                          static_cast<double>(block_tokens));
    table.add(known_place(ids, step.at("routed_to")), {.keys = keys});
  }
  return true;
}

/// A policy that is checked by a function of its own.
struct Check {
  std::string_view policy;
  bool (*check)(DecisionCase&);
};
constexpr auto kChecks = std::to_array<Check>({
    {"prefix-cache-affinity-filter", check_sticky},
    {"utilization-filter", check_utilization},
    {"utilization-detector", check_utilization_detector},
    {"concurrency-detector", check_concurrency_detector},
    {"priority-holdback-policy", check_ceilings},
    {"probabilistic-admitter", check_admitter},
    {"prefix-based-pd-decider", check_decider},
    {"no-hit-lru-scorer", check_no_hit_lru},
    {"approx-prefix-cache-producer", check_prefix_table},
});

}  // namespace

bool check_llm_d(DecisionCase& recorded) {
  const std::string policy = recorded.policy();
  if (policy.starts_with("profile/")) {
    return check_profile(recorded);
  }
  const auto* const one = std::ranges::find(kChecks, policy, &Check::policy);
  if (one != kChecks.end()) {
    return one->check(recorded);
  }
  const auto scores = scores_of(recorded);
  if (scores) {
    recorded.check_scores(
        "score", recorded.expected().at("scores"), recorded.endpoint_ids(), *scores);
  }
  return scores.has_value();
}

}  // namespace ridgeline::conform
