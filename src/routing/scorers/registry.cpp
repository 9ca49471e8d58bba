#include "routing/scorers/registry.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "routing/scorers/columns.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kScorerSource = "llm-d-router ebab687 (August 2026)";
constexpr double kMostTokens = 1e9;

constexpr auto kScorerParameters = std::to_array<Parameter>({
    {.name = "matchLengthWeight",
     .standard = 0.0,
     .lowest = 0.0,
     .highest = 1.0,
     .help = "prefix-cache-scorer: share of the matched length in the score, beside the ratio",
     .source = kScorerSource},
    {.name = "matchLengthScaleTokens",
     .standard = 8192.0,
     .lowest = 1.0,
     .highest = kMostTokens,
     .help = "prefix-cache-scorer: matched tokens from which the length counts in full",
     .source = kScorerSource},
    {.name = "threshold",
     .standard = 128.0,
     .lowest = 1.0,
     .highest = kMostTokens,
     .help = "load-aware-scorer: waiting requests from which the score is 0",
     .source = kScorerSource},
    {.name = "queueThresholdTokens",
     .standard = 4'194'304.0,
     .lowest = 1.0,
     .highest = kMostTokens,
     .help = "token-load-scorer: tokens in flight from which the score is 0",
     .source = kScorerSource},
    {.name = "idleThreshold",
     .standard = std::int64_t{0},
     .lowest = 0.0,
     .highest = kMostTokens,
     .help = "active-request-scorer: requests in flight up to which an instance is idle",
     .source = kScorerSource},
    {.name = "maxBusyScore",
     .standard = 1.0,
     .lowest = 0.0,
     .highest = 1.0,
     .help = "active-request-scorer: the most that a busy instance scores",
     .source = kScorerSource},
});

Scorer load_aware(const RouterSetup& setup) {
  return
      [threshold = setup.number(kScorerParameters, "threshold")](const Columns& all, Scores room) {
        return load_aware_scores(all, threshold, std::move(room));
      };
}

Scorer active_request(const RouterSetup& setup) {
  return [idle = setup.integer(kScorerParameters, "idleThreshold"),
          busy = setup.number(kScorerParameters, "maxBusyScore")](const Columns& all, Scores room) {
    return active_request_scores(all, idle, busy, std::move(room));
  };
}

Scorer token_load(const RouterSetup& setup) {
  return [threshold = setup.number(kScorerParameters, "queueThresholdTokens")](const Columns& all,
                                                                               Scores room) {
    return token_load_scores(all, threshold, std::move(room));
  };
}

Scorer prefix_cache(const RouterSetup& setup) {
  return [weight = setup.number(kScorerParameters, "matchLengthWeight"),
          scale = setup.number(kScorerParameters, "matchLengthScaleTokens")](const Columns& all,
                                                                             Scores room) {
    return prefix_scores(all, weight, scale, std::move(room));
  };
}

/// A scorer without parameters.
template <Scores (*Function)(const Columns&, Scores)>
Scorer plain(const RouterSetup& /*setup*/) {
  return Function;
}

Scores load_aware_by_default(const Columns& all, Scores room) {
  return load_aware_scores(all, 128.0, std::move(room));
}
Scores prefix_by_default(const Columns& all, Scores room) {
  return prefix_scores(all, 0.0, 8192.0, std::move(room));
}
Scores latency_by_default(const Columns& all, Scores room) {
  room = latency_scores(all, {});
  return room;
}

constexpr Needs kGauges{.gauges = true};
constexpr GaugeRows kWaiting{.waiting = true, .running = false, .kv_usage = false};
constexpr GaugeRows kRunning{.waiting = false, .running = true, .kv_usage = false};
constexpr GaugeRows kKvUsage{.waiting = false, .running = false, .kv_usage = true};
constexpr Needs kOwn{.own = true};
constexpr Needs kOwnTokens{.own = true, .first_token = true};
constexpr Needs kOwnAndGauges{.own = true, .gauges = true};

// One line per scorer.
constexpr auto kScorerEntries = std::to_array<ScorerEntry>({
    {.name = "queue-scorer", .make = plain<queue_scores>, .needs = kGauges, .rows = kWaiting},
    {.name = "running-requests-size-scorer",
     .make = plain<running_scores>,
     .needs = kGauges,
     .rows = kRunning},
    {.name = "kv-cache-utilization-scorer",
     .make = plain<kv_utilization_scores>,
     .needs = kGauges,
     .rows = kKvUsage},
    {.name = "load-aware-scorer", .make = load_aware, .needs = kGauges, .rows = kWaiting},
    {"active-request-scorer", active_request, kOwn},
    {"token-load-scorer", token_load, kOwnTokens, true},
    {.name = "prefix-cache-scorer",
     .make = prefix_cache,
     .reads_prefix = true,
     .zero_unmatched = true},
    {.name = "latency-scorer",
     .make = plain<latency_by_default>,
     .needs = kOwnAndGauges,
     .may_exceed_1 = true},
    {"session-affinity-scorer", plain<session_affinity_scores>, {}, false, true},
    {"topology-affinity-scorer", plain<topology_affinity_scores>, {}, false, false, true},
    // inference-sim's names.
    {.name = "queue-depth", .make = plain<queue_scores>, .needs = kGauges, .rows = kWaiting},
    {.name = "running-requests", .make = plain<running_scores>, .needs = kGauges, .rows = kRunning},
    {.name = "kv-utilization",
     .make = plain<kv_utilization_scores>,
     .needs = kGauges,
     .rows = kKvUsage},
    {.name = "load-aware",
     .make = plain<load_aware_by_default>,
     .needs = kGauges,
     .rows = kWaiting},
    {"load-balance", plain<load_balance_scores>, kOwnAndGauges},
    {"active-requests", plain<active_requests_scores>, kOwn},
    {"vllm-dp", plain<vllm_dp_scores>, kGauges},
    {"precise-prefix-cache", plain<precise_prefix_scores>, {}, true},
    {.name = "prefix-affinity",
     .make = plain<prefix_by_default>,
     .reads_prefix = true,
     .zero_unmatched = true},
});

}  // namespace

std::span<const ScorerEntry> scorers() {
  return kScorerEntries;
}

const ScorerEntry* find_scorer(std::string_view name) {
  const auto* const found = std::ranges::find(kScorerEntries, name, &ScorerEntry::name);
  return found == kScorerEntries.end() ? nullptr : found;
}

std::span<const Parameter> scorer_parameters() {
  return kScorerParameters;
}

}  // namespace ridgeline::routing
