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

namespace ridgeline::routing {
// A policy has a line here and one in the list below.
extern const RouterEntry kRoundRobin;
extern const RouterEntry kRandom;
extern const RouterEntry kLeastRequest;
extern const RouterEntry kPowerOfTwo;
extern const RouterEntry kRandomTwo;
extern const RouterEntry kSession;
extern const RouterEntry kRingHash;
extern const RouterEntry kMaglev;
extern const RouterEntry kJsqOracle;
extern const RouterEntry kLlmD;
extern const RouterEntry kLlmD010;
extern const RouterEntry kGaie;
extern const RouterEntry kLlmDPrecise;
extern const RouterEntry kLlmDSticky;
extern const RouterEntry kLlmDLatency;
extern const RouterEntry kVllmDp;
extern const RouterEntry kVllmDpRotatingStart;
extern const RouterEntry kVllmDpFixedStart;
extern const RouterEntry kDynamo;
extern const RouterEntry kSglang;
extern const RouterEntry kSglangPrefixHash;
extern const RouterEntry kSglangZmq;
extern const RouterEntry kSglangDp;
extern const RouterEntry kProductionStackRoundrobin;
extern const RouterEntry kProductionStackSession;
extern const RouterEntry kProductionStackPrefixaware;
extern const RouterEntry kProductionStackKvaware;
extern const RouterEntry kAibrixLeastKvCache;
extern const RouterEntry kAibrix;
extern const RouterEntry kKthena;
extern const RouterEntry kBlis;

std::span<const RouterEntry> routers() {
  static const std::vector<RouterEntry> kRouters = {
      kRoundRobin,
      kRandom,
      kLeastRequest,
      kPowerOfTwo,
      kRandomTwo,
      kSession,
      kRingHash,
      kMaglev,
      kJsqOracle,
      kLlmD,
      kLlmD010,
      kGaie,
      kLlmDPrecise,
      kLlmDSticky,
      kLlmDLatency,
      kVllmDp,
      kVllmDpRotatingStart,
      kVllmDpFixedStart,
      kDynamo,
      kSglang,
      kSglangPrefixHash,
      kSglangZmq,
      kSglangDp,
      kProductionStackRoundrobin,
      kProductionStackSession,
      kProductionStackPrefixaware,
      kProductionStackKvaware,
      kAibrixLeastKvCache,
      kAibrix,
      kKthena,
      kBlis,
  };
  return kRouters;
}

namespace {

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
  for (const RouterEntry& entry : routers()) {
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

std::string weighing_routers() {
  return names_where(&RouterEntry::weights);
}

std::string predicting_routers() {
  return names_where(&RouterEntry::predicts);
}

core::Result<const RouterEntry*> find_router(const std::string& name) {
  const auto found = std::ranges::find(routers(), name, &RouterEntry::name);
  if (found != routers().end()) {
    return &*found;
  }
  const auto* const known = std::ranges::find(kNotSimulated, name, &NotSimulated::name);
  if (known != kNotSimulated.end()) {
    return core::fail(core::Error{.message = fmt::format("'{}' is not simulated", name),
                                  .hint = std::string(known->instead)});
  }
  std::vector<std::string> names;
  for (const RouterEntry& entry : routers()) {
    names.emplace_back(entry.name);
  }
  const auto meant = meant_router(name, names);
  return core::fail(core::Error{.message = fmt::format("no routing policy '{}'", name),
                                .hint = meant ? fmt::format("did you mean '{}'?", *meant)
                                              : fmt::format("one of {}", fmt::join(names, ", "))});
}

}  // namespace ridgeline::routing
