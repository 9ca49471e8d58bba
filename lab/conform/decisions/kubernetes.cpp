#include "routing/kubernetes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lab/conform/decisions/decision_case.hpp"
#include "lab/conform/decisions/part.hpp"
#include "lab/conform/decisions/systems.hpp"
#include "routing/cache_aware.hpp"
#include "routing/character_tree.hpp"
#include "routing/filters.hpp"
#include "routing/prefix_table.hpp"

namespace ridgeline::conform {
namespace {

template <class Number>
std::vector<Number> each(const DecisionCase& recorded, std::string_view key) {
  std::vector<Number> numbers;
  for (const Part& endpoint : recorded.endpoints()) {
    numbers.push_back(static_cast<Number>(endpoint.number(key)));
  }
  return numbers;
}

bool check_round_robin(DecisionCase& recorded) {
  routing::RoundRobinBySet turns;
  const std::vector<Part> steps = recorded.steps_with({"routed_to"});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto endpoints = words_of(steps[i].at("endpoints"));
    recorded.check_word(fmt::format("step {}: routed to", i),
                        steps[i].at("routed_to"),
                        endpoints.empty() ? "none" : turns.next(endpoints));
  }
  return true;
}

/// Requests per second of an endpoint; nothing where there are no statistics yet.
std::optional<double> rate_of(const Part& rate) {
  return rate.is_there() ? std::optional(rate.number()) : std::nullopt;
}

bool check_prefix_aware(DecisionCase& recorded) {
  const Part params = recorded.params();
  const auto ids = numbered_ids("e", params.at("endpoints").size());
  const std::int64_t chunk_tokens = std::max<std::int64_t>(params.count("chunk_chars", 128), 1);
  routing::ChunkTrie trie;
  RecordedPrompts prompts;
  const std::vector<Part> steps = recorded.steps_with({"picks"});
  for (std::size_t i = 0; i < steps.size() && !ids.empty(); ++i) {
    const Part& step = steps[i];
    const auto prompt = prompts.read(step, "chars");
    const auto chunks =
        routing::block_keys(prompt.chain, prompt.length, chunk_tokens, prompt.length);
    const auto match = trie.longest(chunks);
    std::vector<std::optional<double>> rates;
    for (const std::string& id : ids) {
      rates.push_back(rate_of(step["qps"][id]));
    }
    routing::Places picks = match.endpoints;
    if (match.chunks * chunk_tokens < params.count("prefix_min_match_length")) {
      picks = {routing::lowest_rate(rates)};
    } else if (picks.empty()) {
      picks.resize(ids.size());
      std::iota(picks.begin(), picks.end(), std::size_t{0});
    }
    recorded.check_places(fmt::format("step {}: picks", i), step.at("picks"), ids, picks);
    trie.insert(chunks, recorded.check_among(i, step.at("routed_to"), ids, picks));
  }
  return true;
}

bool check_lowest_rate(DecisionCase& recorded) {
  std::vector<std::optional<double>> rates;
  for (const Part& endpoint : recorded.endpoints()) {
    rates.push_back(rate_of(endpoint["qps"]));
  }
  recorded.check_places("picks",
                        recorded.expected().at("picks"),
                        recorded.endpoint_ids(),
                        {routing::lowest_rate(rates)});
  return true;
}

}  // namespace

bool check_aibrix(DecisionCase& recorded) {
  const auto running = each<std::int64_t>(recorded, "running");
  const Part expected = recorded.expected();
  routing::Places picks;
  if (running.empty()) {
    return true;
  }
  if (recorded.policy() == "prefix-cache") {
    const auto choice =
        routing::aibrix_prefix_cache(each<std::int64_t>(recorded, "prefix_match_percent"),
                                     running,
                                     recorded.params().count("imbalance_abs_count", 8),
                                     recorded.params().number("standard_deviation_factor", 1));
    recorded.check_flag("imbalanced", expected.at("imbalanced"), choice.imbalanced);
    const std::string selection = choice.matched   ? "prefix_match"
                                  : choice.skipped ? "prefix_match_skipped"
                                                   : "least_request_fallback";
    recorded.check_text("selection",
                        fmt::format("{}", words_of(expected.at("selection"))),
                        fmt::format("{}", std::vector{selection}));
    picks = choice.picks;
  } else if (recorded.policy() == "least-request") {
    picks = routing::places_of_least(running);
  } else {
    return false;
  }
  recorded.check_places("picks", expected.at("picks"), recorded.endpoint_ids(), picks);
  return true;
}

bool check_kthena(DecisionCase& recorded) {
  const std::string policy = recorded.policy();
  const auto ids = recorded.endpoint_ids();
  routing::WholeScores scores;
  if (policy == "least-request") {
    scores = routing::kthena_least_request(each<std::int64_t>(recorded, "inflight_requests"),
                                           each<std::int64_t>(recorded, "running"));
    routing::Places kept;
    const auto waiting = each<std::int64_t>(recorded, "waiting");
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i] < recorded.params().count("maxWaitingRequests", 10)) {
        kept.push_back(i);
      }
    }
    recorded.check_places("kept", recorded.expected().at("kept"), ids, kept);
  } else if (policy == "gpu-usage") {
    scores = routing::kthena_gpu_usage(each<double>(recorded, "kv_usage"));
  } else if (policy == "least-latency") {
    scores = routing::kthena_least_latency(each<double>(recorded, "ttft_s"),
                                           each<double>(recorded, "tpot_s"),
                                           recorded.params().number("TTFTTPOTWeightFactor", 0.5));
  } else {
    return false;
  }
  recorded.check_scores(
      "score", recorded.expected().at("scores"), ids, {scores.begin(), scores.end()});
  return true;
}

bool check_production_stack(DecisionCase& recorded) {
  const std::string policy = recorded.policy();
  return policy == "roundrobin"    ? check_round_robin(recorded)
         : policy == "prefixaware" ? check_prefix_aware(recorded)
                                   : policy == "qps-fallback" && check_lowest_rate(recorded);
}

bool check_sglang_gateway(DecisionCase& recorded) {
  if (recorded.policy() != "cache_aware") {
    return false;
  }
  const Part params = recorded.params();
  const auto ids = numbered_ids("w", params.at("workers").size());
  routing::CacheAware policy(ids.size(),
                             {.cache_threshold = params.number("cache_threshold"),
                              .balance_abs = params.count("balance_abs_threshold"),
                              .balance_rel = params.number("balance_rel_threshold"),
                              .most_characters = params.count("max_tree_size")});
  RecordedPrompts prompts;
  const std::vector<Part> steps = recorded.steps_with({"routed_to"});
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Part& step = steps[i];
    const auto prompt = prompts.read(step, "chars");
    routing::Text text;
    for (const auto& segment : prompt.segments) {
      text.push_back({.content = segment.content, .offset = 0, .length = segment.length.value()});
    }
    std::vector<std::int64_t> loads;
    for (const Part& load : step.at("loads").items()) {
      loads.push_back(load.count());
    }
    std::vector<bool> healthy;
    for (const Part& one : step.at("healthy").items()) {
      healthy.push_back(one.flag());
    }
    if (loads.size() != ids.size() || healthy.size() != ids.size()) {
      step.note_wrong("loads and healthy of each worker");
      break;
    }
    recorded.check_word(fmt::format("step {}: routed to", i),
                        step.at("routed_to"),
                        ids[policy.pick(text, loads, healthy)]);
    if (step.flag("evict_after")) {
      policy.evict();
    }
  }
  return true;
}

}  // namespace ridgeline::conform
