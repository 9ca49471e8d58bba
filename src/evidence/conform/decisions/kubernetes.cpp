#include "routing/kubernetes.hpp"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/conform/decisions/decision_case.hpp"
#include "evidence/conform/decisions/systems.hpp"
#include "routing/cache_aware.hpp"
#include "routing/character_tree.hpp"
#include "routing/filters.hpp"
#include "routing/prefix_table.hpp"

namespace ridgeline::evidence::conform {
namespace {

using document::Node;

template <class Number>
std::vector<Number> each(const DecisionCase& recorded, std::string_view key) {
  std::vector<Number> numbers;
  for (const Node& endpoint : recorded.endpoints()) {
    numbers.push_back(static_cast<Number>(number_of(endpoint, key)));
  }
  return numbers;
}

bool check_aibrix(DecisionCase& recorded) {
  const auto running = each<std::int64_t>(recorded, "running");
  const Node& expected = recorded.expected();
  routing::Places picks;
  if (recorded.policy() == "prefix-cache") {
    const auto choice =
        routing::aibrix_prefix_cache(each<std::int64_t>(recorded, "prefix_match_percent"),
                                     running,
                                     count_of(recorded.params(), "imbalance_abs_count", 8),
                                     number_of(recorded.params(), "standard_deviation_factor", 1));
    recorded.check_text("imbalanced",
                        fmt::format("{}", flag_of(expected, "imbalanced")),
                        fmt::format("{}", choice.imbalanced));
    picks = choice.picks;
  } else if (recorded.policy() == "least-request") {
    picks = routing::places_of_least(running);
  } else {
    return false;
  }
  recorded.check_places("picks", items_of(expected, "picks"), recorded.endpoint_ids(), picks);
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
      if (waiting[i] < count_of(recorded.params(), "maxWaitingRequests", 10)) {
        kept.push_back(i);
      }
    }
    recorded.check_places("kept", items_of(recorded.expected(), "kept"), ids, kept);
  } else if (policy == "gpu-usage") {
    scores = routing::kthena_gpu_usage(each<double>(recorded, "kv_usage"));
  } else if (policy == "least-latency") {
    scores =
        routing::kthena_least_latency(each<double>(recorded, "ttft_s"),
                                      each<double>(recorded, "tpot_s"),
                                      number_of(recorded.params(), "TTFTTPOTWeightFactor", 0.5));
  } else {
    return false;
  }
  recorded.check_scores(
      "score", part_of(recorded.expected(), "scores"), ids, {scores.begin(), scores.end()});
  return true;
}

bool check_round_robin(DecisionCase& recorded) {
  routing::RoundRobinBySet turns;
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    std::vector<std::string> endpoints;
    for (const Node& endpoint : items_of(step, "endpoints")) {
      endpoints.push_back(endpoint.as_string());
    }
    recorded.check_text(
        fmt::format("step {}: routed to", i), word_of(step, "routed_to"), turns.next(endpoints));
  }
  return true;
}

/// Requests per second by endpoint; nothing where there are no statistics yet.
std::vector<std::optional<double>> rates_of(const Node& qps, const std::vector<std::string>& ids) {
  std::vector<std::optional<double>> rates;
  for (const std::string& id : ids) {
    const Node* rate = qps.find(id);
    rates.push_back(rate != nullptr && rate->is_number() ? std::optional(rate->as_real())
                                                         : std::nullopt);
  }
  return rates;
}

bool check_prefix_aware(DecisionCase& recorded) {
  const Node& params = recorded.params();
  const auto ids = numbered_ids("e", count_of(params, "endpoints"));
  const std::int64_t chunk_tokens = count_of(params, "chunk_chars", 128);
  routing::ChunkTrie trie;
  RecordedPrompts prompts;
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    const auto prompt = prompts.read(step, "chars");
    const auto chunks =
        routing::block_keys(prompt.chain, prompt.length, chunk_tokens, prompt.length);
    const auto match = trie.longest(chunks);
    routing::Places picks = match.endpoints;
    if (match.chunks * chunk_tokens < count_of(params, "prefix_min_match_length")) {
      picks = {routing::lowest_rate(rates_of(part_of(step, "qps"), ids))};
    } else if (picks.empty()) {
      picks.resize(ids.size());
      std::iota(picks.begin(), picks.end(), std::size_t{0});
    }
    recorded.check_places(fmt::format("step {}: picks", i), items_of(step, "picks"), ids, picks);
    trie.insert(chunks, place_of(ids, word_of(step, "routed_to")));
  }
  return true;
}

bool check_production_stack(DecisionCase& recorded) {
  if (recorded.policy() == "roundrobin") {
    return check_round_robin(recorded);
  }
  if (recorded.policy() == "prefixaware") {
    return check_prefix_aware(recorded);
  }
  std::vector<std::optional<double>> rates;
  for (const Node& endpoint : recorded.endpoints()) {
    const Node* rate = endpoint.find("qps");
    rates.push_back(rate != nullptr && rate->is_number() ? std::optional(rate->as_real())
                                                         : std::nullopt);
  }
  recorded.check_places("picks",
                        items_of(recorded.expected(), "picks"),
                        recorded.endpoint_ids(),
                        {routing::lowest_rate(rates)});
  return recorded.policy() == "qps-fallback";
}

}  // namespace

bool check_kubernetes(DecisionCase& recorded) {
  const std::string system = recorded.system();
  return system == "aibrix"   ? check_aibrix(recorded)
         : system == "kthena" ? check_kthena(recorded)
                              : check_production_stack(recorded);
}

bool check_sglang_gateway(DecisionCase& recorded) {
  if (recorded.policy() != "cache_aware") {
    return false;
  }
  const Node& params = recorded.params();
  const auto ids = numbered_ids("w", count_of(params, "workers"));
  routing::CacheAware policy(ids.size(),
                             {.cache_threshold = number_of(params, "cache_threshold"),
                              .balance_abs = count_of(params, "balance_abs_threshold"),
                              .balance_rel = number_of(params, "balance_rel_threshold"),
                              .most_characters = count_of(params, "max_tree_size")});
  RecordedPrompts prompts;
  for (std::size_t i = 0; i < recorded.steps().size(); ++i) {
    const Node& step = recorded.steps()[i];
    const auto prompt = prompts.read(step, "chars");
    routing::Text text;
    for (const auto& segment : prompt.segments) {
      text.push_back({.content = segment.content, .offset = 0, .length = segment.length.value()});
    }
    std::vector<std::int64_t> loads;
    for (const Node& load : items_of(step, "loads")) {
      loads.push_back(load.as_integer());
    }
    std::vector<bool> healthy;
    for (const Node& one : items_of(step, "healthy")) {
      healthy.push_back(one.as_bool());
    }
    recorded.check_text(fmt::format("step {}: routed to", i),
                        word_of(step, "routed_to"),
                        ids[policy.pick(text, loads, healthy)]);
    if (flag_of(step, "evict_after")) {
      policy.evict();
    }
  }
  return true;
}

}  // namespace ridgeline::evidence::conform
