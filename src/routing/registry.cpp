#include "routing/registry.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/reader.hpp"
#include "routing/policies/policies.hpp"
#include "routing/scorers/registry.hpp"

namespace ridgeline::routing {
namespace {

// One line per policy.
constexpr auto kRouters = std::to_array<RouterEntry>({
    {"round-robin", "one after the other", "every proxy", make_round_robin, nullptr, false, true},
    {"random",
     "each with the same probability",
     "every proxy",
     make_random,
     random_parameters,
     false,
     true},
    {"least-request",
     "fewest requests in flight by the gateway's own count, a draw among equals",
     "Envoy FULL_SCAN, NGINX least_conn",
     make_least_request,
     least_request_parameters,
     false,
     true},
    {"power-of-two",
     "of two drawn, the one with fewer requests in flight by the gateway's own count",
     "Envoy choice_count 2, SGLang gateway",
     make_power_of_two,
     nullptr,
     false,
     true},
    {"random-two",
     "of two drawn by their weights, the one with fewer requests by its weight",
     "NGINX random two least_conn",
     make_random_two,
     nullptr,
     false,
     true},
    {"session",
     "the requests of a session stay with one instance",
     "rendezvous hashing (Thaler, Ravishankar 1998)",
     make_session},
    {"ring-hash",
     "the requests of a session stay with its instance on a ring of hashes",
     "Envoy ring_hash",
     make_ring_hash},
    {"maglev",
     "the same by a table that all instances fill alike",
     "Envoy maglev; Eisenbud and others, NSDI 2016",
     make_maglev},
    {"jsq-oracle",
     "fewest requests at this instant, which no gateway knows: the bound for queue-length policies",
     "join the shortest queue",
     make_jsq_oracle},
    {"llm-d",
     "prefixes that it sent 3, short queue 2, free KV cache 2",
     "llm-d-router ebab687 (August 2026), the loader's profile",
     make_llm_d,
     llm_d_parameters,
     true},
    {"llm-d@0.10",
     "the same: a name without a version is the newest",
     "llm-d-router ebab687, after v0.10.0-rc.1",
     make_llm_d,
     llm_d_parameters,
     true},
    {"gaie",
     "the same, under its former name",
     "Gateway API Inference Extension",
     make_llm_d,
     llm_d_parameters,
     true},
    {"llm-d-precise",
     "prefixes that KV events tell of 3, short queue 2, free KV cache 2",
     "llm-d-router ebab687, with its precise prefix cache",
     make_llm_d_precise,
     scorer_parameters,
     true},
    {"llm-d-sticky",
     "stays where most of the prompt was sent, else fewest tokens in flight",
     "llm-d-router ebab687, the guides' profile for long prompts",
     make_llm_d_sticky,
     llm_d_sticky_parameters,
     true},
    {"llm-d-latency",
     "where it predicts targets to be met, by the time left to them; without targets the soonest",
     "llm-d-router ebab687, predicted latency with its SLO filter",
     make_llm_d_latency,
     llm_d_latency_parameters,
     true,
     false,
     true},
    {"vllm-dp",
     "waiting and running with a penalty on full caches; its own picks count as waiting",
     "vLLM's data-parallel balancer, August 2026",
     make_vllm_dp},
    {"vllm-dp@rotating-start",
     "4 waiting + running; the scan starts one further after each pick",
     "vLLM from #47420 (July 2026)",
     make_vllm_dp_rotating},
    {"vllm-dp@fixed-start",
     "4 waiting + running, from the first engine on",
     "vLLM to July 2026",
     make_vllm_dp_fixed},
    {"dynamo",
     "fewest blocks to compute and hold, less what it sent there before",
     "NVIDIA Dynamo 2a6da14 (August 2026), KV router without events",
     make_dynamo,
     dynamo_parameters},
    {"sglang",
     "where most of the prompt was sent, unless loads are far apart",
     "SGLang gateway e8d57e7 (May 2026), cache_aware",
     make_sglang,
     sglang_parameters},
    {"sglang-prefix-hash",
     "the first 256 tokens choose; the next on a ring where that has 1.25 times its share",
     "SGLang gateway e8d57e7 (May 2026), prefix_hash",
     make_sglang_prefix_hash},
    {"sglang-zmq",
     "the least busy of those that have the most of the prompt, as KV events tell",
     "SGLang gateway e8d57e7 (May 2026), cache_aware_zmq",
     make_sglang_zmq},
    {"sglang-dp",
     "fewest requests by the last report of each, its own picks added",
     "SGLang's data-parallel controller, total_requests, August 2026",
     make_sglang_dp},
    {"production-stack-roundrobin",
     "one after the other, with a turn for each set of instances",
     "vLLM production-stack a6c01db (August 2026)",
     make_production_stack_round_robin},
    {"production-stack-session",
     "the requests of a session stay; others go where the fewest went in the last minute",
     "vLLM production-stack a6c01db (August 2026)",
     make_production_stack_session},
    {"production-stack-prefixaware",
     "any of those that were sent the longest beginning of the prompt",
     "vLLM production-stack a6c01db (August 2026)",
     make_production_stack_prefix,
     production_stack_prefix_parameters},
    {"production-stack-kvaware",
     "where the most of the prompt is cached, unless more than 2000 tokens are missing",
     "vLLM production-stack a6c01db (August 2026), KV events for LMCache's look-up",
     make_production_stack_kvaware,
     production_stack_kvaware_parameters},
    {"aibrix-least-kv-cache",
     "the most free KV cache",
     "AIBrix e3e10f9 (August 2026)",
     make_aibrix_least_kv_cache},
    {"aibrix",
     "where most of the prompt was sent, unless that instance is much busier",
     "AIBrix e3e10f9 (August 2026), prefix-cache",
     make_aibrix,
     aibrix_parameters},
    {"kthena",
     "few requests, free KV cache and prefixes that it sent, 0 to 100 each",
     "kthena 3cc0572 (August 2026)",
     make_kthena,
     kthena_parameters},
    {"blis",
     "prefixes that it sent 2, short queue 1, free KV cache 1",
     "inference-sim f90a1e3 (August 2026), weighted with prefix-affinity",
     make_blis,
     blis_parameters,
     true},
});

/// Policies of these systems that are not simulated, and what does in their place or why not.
struct NotSimulated {
  std::string_view name;
  std::string_view instead;
};
constexpr auto kNotSimulated = std::to_array<NotSimulated>({
    {"aibrix-least-latency", "instances publish no latencies here; llm-d-latency predicts them"},
    {"aibrix-throughput", "instances publish no throughput here; least-request counts requests"},
    {"aibrix-vtc-basic",
     "routers see no tenants; cluster.admission.fairness_policy: vtc is fair to them"},
    {"kthena-least-latency", "instances publish no latencies here; llm-d-latency predicts them"},
    {"production-stack-disaggregated-prefill", "cluster.disaggregation"},
    {"production-stack-orchestrated", "cluster.disaggregation with round-robin"},
    {"sglang-bucket", "its bounds move with a history of lengths that is not published"},
    {"sglang-manual", "{name: random, affinity: connection} keeps a session's instance"},
});

std::string names_where(bool RouterEntry::* is_so) {
  std::vector<std::string_view> names;
  for (const RouterEntry& entry : kRouters) {
    if (entry.*is_so) {
      names.push_back(entry.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Policies by the words of others: what they are called there, and the nearest one here.
struct RouterWord {
  std::string_view theirs;
  std::string_view ours;
};
constexpr auto kRouterWords = std::to_array<RouterWord>({
    {"cache-aware", "sglang"},
    {"kv", "dynamo"},
    {"kv-aware", "llm-d-precise"},
    {"kvaware", "llm-d-precise"},
    {"prefix", "llm-d"},
    {"prefix-aware", "llm-d"},
    {"prefix-cache", "llm-d"},
    {"precise", "llm-d-precise"},
    {"precise-prefix", "llm-d-precise"},
    {"least-loaded", "least-request"},
    {"random-two-least-conn", "random-two"},
    {"least-conn", "least-request"},
    {"least-connections", "least-request"},
    {"jsq", "jsq-oracle"},
    {"p2c", "power-of-two"},
    {"sticky", "session"},
    {"epp", "llm-d"},
});

std::optional<std::string> meant_router(std::string_view name, std::span<const std::string> names) {
  std::string folded(name);
  std::ranges::replace(folded, '_', '-');
  const auto* const word = std::ranges::find(kRouterWords, folded, &RouterWord::theirs);
  return word == kRouterWords.end() ? document::nearest(name, names)
                                    : std::optional(std::string(word->ours));
}

}  // namespace

std::span<const RouterEntry> routers() {
  return kRouters;
}

std::string weighing_routers() {
  return names_where(&RouterEntry::weights);
}

std::string predicting_routers() {
  return names_where(&RouterEntry::predicts);
}

core::Result<const RouterEntry*> find_router(const std::string& name) {
  const auto* const found = std::ranges::find(kRouters, name, &RouterEntry::name);
  if (found != kRouters.end()) {
    return found;
  }
  const auto* const known = std::ranges::find(kNotSimulated, name, &NotSimulated::name);
  if (known != kNotSimulated.end()) {
    return core::fail(core::Error{.message = fmt::format("'{}' is not simulated", name),
                                  .hint = std::string(known->instead)});
  }
  std::vector<std::string> names;
  for (const RouterEntry& entry : kRouters) {
    names.emplace_back(entry.name);
  }
  const auto meant = meant_router(name, names);
  return core::fail(core::Error{.message = fmt::format("no routing policy '{}'", name),
                                .hint = meant ? fmt::format("did you mean '{}'?", *meant)
                                              : fmt::format("one of {}", fmt::join(names, ", "))});
}

}  // namespace ridgeline::routing
