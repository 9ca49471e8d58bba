#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "routing/parameters.hpp"
#include "routing/profile.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "routing/scorers/registry.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kLlmdSource = "llm-d-router ebab687 (August 2026)";
constexpr double kLlmdMost = 1e9;
constexpr double kLeastWeight = 1e-6;  ///< Above zero: the two weights' sum divides.
constexpr std::int64_t kLeastTunedBlock = 64;
constexpr double kStickyThreshold = 0.8;
constexpr double kMostError = 100.0;  ///< A hundredfold: worse than any guess.

std::vector<Parameter> with_scorers(std::vector<Parameter> own) {
  const auto scorers = scorer_parameters();
  own.insert(own.end(), scorers.begin(), scorers.end());
  return own;
}

/// Parameters of the approximate prefix cache and of the scorers that a profile may have.
const std::vector<Parameter>& profile_parameters() {
  static const std::vector<Parameter> kParameters = with_scorers({
      {.name = "blockSizeTokens",
       .standard = std::int64_t{64},
       .lowest = 1.0,
       .highest = kLlmdMost,
       .help = "Tokens of a block of the approximate prefix cache",
       .source = kLlmdSource},
      {.name = "lruCapacityPerServer",
       .standard = std::int64_t{31'250},
       .lowest = 1.0,
       .highest = kLlmdMost,
       .help = "Blocks that it remembers of each instance",
       .source = kLlmdSource},
      {.name = "maxPrefixTokensToMatch",
       .standard = std::int64_t{131'072},
       .lowest = 1.0,
       .highest = kLlmdMost,
       .help = "Tokens of a prompt that it looks at",
       .source = kLlmdSource},
      {.name = "autoTune",
       .standard = false,
       .help = "Its blocks are the servers', of 64 tokens at least, and as many as a server has",
       .source = "policies here; llm-d's own files tune where they do not say no"},
  });
  return kParameters;
}

/// Those of the filter that keeps requests where most of their prompt is.
void add_affinity(std::vector<Parameter>& all, double threshold) {
  all.push_back({.name = "affinityThreshold",
                 .standard = threshold,
                 .lowest = 0.0,
                 .highest = 1.0,
                 .help = "Matched share of the prompt from which it stays",
                 .source = kLlmdSource});
  all.push_back({.name = "maxTTFTPenaltyMs",
                 .standard = 18e3,
                 .lowest = 0.0,
                 .highest = kLlmdMost,
                 .help = "Milliseconds of time to first token that staying may cost",
                 .source = kLlmdSource});
  all.push_back({.name = "peakPrefillThroughput",
                 .standard = 15'928.0,
                 .lowest = 1.0,
                 .highest = kLlmdMost,
                 .help = "Prompt tokens per second, for its estimate of that time",
                 .source = kLlmdSource});
}

const std::vector<Parameter>& sticky_parameters() {
  static const std::vector<Parameter> kParameters = [] {
    std::vector<Parameter> all = profile_parameters();
    add_affinity(all, kStickyThreshold);
    return all;
  }();
  return kParameters;
}

constexpr auto kStrategies = std::to_array<std::string_view>({"least", "most"});

const std::vector<Parameter>& latency_parameters() {
  static const std::vector<Parameter> kParameters = [] {
    std::vector<Parameter> all = profile_parameters();
    all.push_back({.name = "predictorBias",
                   .standard = 0.0,
                   .lowest = -1.0,
                   .highest = kMostError,
                   .help = "By which share every predicted latency is too high",
                   .source = "a predictor that is right"});
    all.push_back({.name = "predictorSd",
                   .standard = 0.0,
                   .lowest = 0.0,
                   .highest = kMostError,
                   .help = "Standard deviation of a predicted latency's error, as a share of it",
                   .source = "a predictor that is right"});
    all.push_back({.name = "epsilonExploreNeg",
                   .standard = 0.01,
                   .lowest = 0.0,
                   .highest = 1.0,
                   .help = "Probability of choosing where a target would be missed",
                   .source = kLlmdSource});
    all.push_back({.name = "headroomSelectionStrategy",
                   .standard = std::string_view("least"),
                   .choices = kStrategies,
                   .help = "Prefers the least or the most time left to the targets",
                   .source = kLlmdSource});
    all.push_back({.name = "ttftWeight",
                   .standard = 0.8,
                   .lowest = kLeastWeight,
                   .highest = kLlmdMost,
                   .help = "latency-scorer: weight of the time to first token",
                   .source = kLlmdSource});
    all.push_back({.name = "tpotWeight",
                   .standard = 0.2,
                   .lowest = kLeastWeight,
                   .highest = kLlmdMost,
                   .help = "latency-scorer: weight of the time per token",
                   .source = kLlmdSource});
    add_affinity(all, 0.0);  // No filter.
    return all;
  }();
  return kParameters;
}

Profile with_prefix_cache(std::vector<NamedWeight> scorers, const RouterSetup& setup) {
  const auto& table = profile_parameters();
  const bool is_tuned = setup.truth(table, "autoTune") && setup.instance_blocks > 0;
  return {.scorers = std::move(scorers),
          .block_tokens = is_tuned ? std::max(kLeastTunedBlock, setup.block_tokens)
                                   : setup.integer(table, "blockSizeTokens"),
          .most_prefix_tokens = setup.integer(table, "maxPrefixTokensToMatch"),
          .blocks_per_instance = static_cast<std::size_t>(
              is_tuned ? setup.instance_blocks : setup.integer(table, "lruCapacityPerServer"))};
}

std::unique_ptr<Router> make_llm_d(const RouterSetup& setup) {
  return make_profile_router(
      with_prefix_cache({{.name = "queue-scorer", .weight = 2.0},
                         {.name = "kv-cache-utilization-scorer", .weight = 2.0},
                         {.name = "prefix-cache-scorer", .weight = 3.0}},
                        setup),
      setup);
}

std::unique_ptr<Router> make_llm_d_precise(const RouterSetup& setup) {
  return make_profile_router({.scorers = {{.name = "queue-scorer", .weight = 2.0},
                                          {.name = "kv-cache-utilization-scorer", .weight = 2.0},
                                          {.name = "prefix-cache-scorer", .weight = 3.0}},
                              .exact = true},
                             setup);
}

AffinityOptions affinity_of(const RouterSetup& setup, const std::vector<Parameter>& table) {
  return {.threshold = setup.number(table, "affinityThreshold"),
          .max_penalty_ms = setup.number(table, "maxTTFTPenaltyMs"),
          .prefill_rate = setup.number(table, "peakPrefillThroughput")};
}

std::unique_ptr<Router> make_llm_d_sticky(const RouterSetup& setup) {
  Profile profile = with_prefix_cache({{.name = "token-load-scorer"}}, setup);
  profile.sticky = true;
  profile.affinity = affinity_of(setup, sticky_parameters());
  return make_profile_router(std::move(profile), setup);
}

std::unique_ptr<Router> make_llm_d_latency(const RouterSetup& setup) {
  const auto& table = latency_parameters();
  Profile profile = with_prefix_cache({{.name = "latency-scorer"}}, setup);
  profile.predicts = true;
  profile.affinity = affinity_of(setup, table);
  profile.sticky = profile.affinity.threshold > 0.0;
  profile.explore = setup.number(table, "epsilonExploreNeg");
  profile.latency = {.ttft = setup.number(table, "ttftWeight"),
                     .tpot = setup.number(table, "tpotWeight"),
                     .most_headroom = setup.word(table, "headroomSelectionStrategy") == "most"};
  return make_profile_router(std::move(profile), setup);
}

}  // namespace

extern const RouterEntry kLlmD{
    .name = "llm-d",
    .summary = "prefixes that it sent 3, short queue 2, free KV cache 2",
    .source = "llm-d-router ebab687 (August 2026), the loader's profile",
    .make = make_llm_d,
    .parameters = [] { return std::span<const Parameter>(profile_parameters()); },
    .profile = true,
};

extern const RouterEntry kLlmD010{
    .name = "llm-d@0.10",
    .summary = "the same: a name without a version is the newest",
    .source = "llm-d-router ebab687, after v0.10.0-rc.1",
    .make = make_llm_d,
    .parameters = [] { return std::span<const Parameter>(profile_parameters()); },
    .profile = true,
};

extern const RouterEntry kGaie{
    .name = "gaie",
    .summary = "the same, under its former name",
    .source = "Gateway API Inference Extension",
    .make = make_llm_d,
    .parameters = [] { return std::span<const Parameter>(profile_parameters()); },
    .profile = true,
};

extern const RouterEntry kLlmDPrecise{
    .name = "llm-d-precise",
    .summary = "prefixes that KV events tell of 3, short queue 2, free KV cache 2",
    .source = "llm-d-router ebab687, with its precise prefix cache",
    .make = make_llm_d_precise,
    .parameters = scorer_parameters,
    .profile = true,
};

extern const RouterEntry kLlmDSticky{
    .name = "llm-d-sticky",
    .summary = "stays where most of the prompt was sent, else fewest tokens in flight",
    .source = "llm-d-router ebab687, the guides' profile for long prompts",
    .make = make_llm_d_sticky,
    .parameters = [] { return std::span<const Parameter>(sticky_parameters()); },
    .profile = true,
};

extern const RouterEntry kLlmDLatency{
    .name = "llm-d-latency",
    .summary =
        "where it predicts targets to be met, by the time left to them; without targets the "
        "soonest",
    .source = "llm-d-router ebab687, predicted latency with its SLO filter",
    .make = make_llm_d_latency,
    .parameters = [] { return std::span<const Parameter>(latency_parameters()); },
    .profile = true,
    .predicts = true,
};

}  // namespace ridgeline::routing
