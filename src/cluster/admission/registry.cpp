#include "cluster/admission/registry.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cluster/admission/flow/fairness_policies.hpp"
#include "cluster/admission/flow/flow_control.hpp"
#include "cluster/admission/policies/policies.hpp"
#include "cluster/admission/saturation/detectors.hpp"
#include "core/check.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"

namespace ridgeline::admission {
namespace {

// One line per choice.
constexpr auto kPolicies = std::to_array<PolicyEntry>({
    {"always", "every request", "every proxy", make_always},
    {"priority",
     "priorities below zero only while the instances are not saturated",
     "llm-d-router ebab687 (August 2026), without flow control",
     make_priority},
    {"probabilistic",
     "priorities below zero the less often, the more saturated the instances are",
     "llm-d-router ebab687, probabilistic-admitter",
     make_probabilistic},
    {"latency-slo",
     "priorities below zero only where targets are predicted to be met, or an instance is free",
     "llm-d-router ebab687, latency-slo-admitter",
     make_latency_slo},
    {"token-bucket",
     "prompt tokens from a bucket that refills",
     "inference-sim f90a1e3 (August 2026)",
     make_token_bucket},
});

constexpr auto kDetectors = std::to_array<DetectorEntry>({
    {"utilization-detector",
     "mean over instances of waiting requests and used KV blocks against thresholds",
     "llm-d-router ebab687",
     make_utilization_detector},
    {"concurrency-detector",
     "requests or tokens in flight, by the gateway's own count, against a limit",
     "llm-d-router ebab687",
     make_concurrency_detector},
});

constexpr auto kFairness = std::to_array<FairnessEntry>({
    {"global-strict", "the first request of any flow", "llm-d-router ebab687", make_global_strict},
    {"round-robin",
     "one request of each flow in turn",
     "llm-d-router ebab687",
     make_round_robin_flows},
    {"program-aware",
     "little service of late and a long wait come first",
     "llm-d-router ebab687",
     make_program_aware},
    {"vtc",
     "the flow with the fewest tokens served, over its share",
     "Sheng and others, OSDI 2024",
     make_virtual_tokens},
    {"weighted-fair",
     "prompt tokens in proportion to the shares",
     "start-time fair queueing (Goyal and others, SIGCOMM 1996)",
     make_weighted_fair},
});

constexpr auto kOrders = std::to_array<std::string_view>({"fcfs", "edf", "slo-deadline"});

template <class Found>
core::Result<const Found*> find(std::span<const Found> entries,
                                const std::string& name,
                                std::string_view kind) {
  const auto found = std::ranges::find(entries, name, &Found::name);
  if (found != entries.end() && found->make != nullptr) {
    return &*found;
  }
  if (found != entries.end()) {
    return core::fail(
        core::Error{.message = fmt::format("'{}' is not modelled: {}", name, found->summary)});
  }
  std::vector<std::string> names;
  for (const Found& entry : entries) {
    if (entry.make != nullptr) {
      names.emplace_back(entry.name);
    }
  }
  const auto meant = document::nearest(name, names);
  return core::fail(core::Error{.message = fmt::format("no {} '{}'", kind, name),
                                .hint = meant ? fmt::format("did you mean '{}'?", *meant)
                                              : fmt::format("one of {}", fmt::join(names, ", "))});
}

}  // namespace

std::span<const PolicyEntry> policies() {
  return kPolicies;
}
std::span<const DetectorEntry> detectors() {
  return kDetectors;
}
std::span<const FairnessEntry> fairness_policies() {
  return kFairness;
}
std::span<const std::string_view> dispatch_orders() {
  return kOrders;
}

DispatchOrder dispatch_order(std::string_view name) {
  const auto found = std::ranges::find(kOrders, name);
  RIDGELINE_CHECK(found != kOrders.end(), "a scenario's rules look its order up");
  return static_cast<DispatchOrder>(found - kOrders.begin());
}

core::Result<const PolicyEntry*> find_policy(const std::string& name) {
  return find(policies(), name, "admission policy");
}
core::Result<const DetectorEntry*> find_detector(const std::string& name) {
  return find(detectors(), name, "saturation detector");
}
core::Result<const FairnessEntry*> find_fairness(const std::string& name) {
  return find(fairness_policies(), name, "fairness policy");
}

}  // namespace ridgeline::admission
