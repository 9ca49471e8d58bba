#include "scenario/sections/disaggregation.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cluster/disaggregation/deciders/deciders.hpp"
#include "cluster/disaggregation/registry.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/faults.hpp"
#include "scenario/sections/kv_transfer.hpp"
#include "scenario/sections/pools.hpp"
#include "scenario/sections/router.hpp"
#include "scenario/sections/sections.hpp"
#include "workload/limits.hpp"

namespace ridgeline::scenario {
namespace {

using disaggregation::DeciderEntry;
using disaggregation::FirstToken;
using disaggregation::LegOrder;
using disaggregation::TransferMode;

constexpr double kMaxPoolInstances = 4096;
constexpr std::string_view kSystemName = "cluster.disaggregation.name";
constexpr std::string_view kPrefillInstances = "cluster.disaggregation.prefill_instances";
constexpr std::string_view kDecodeInstances = "cluster.disaggregation.decode_instances";
constexpr std::string_view kDeciderName = "cluster.disaggregation.decider";
constexpr std::string_view kNonCachedTokens = "cluster.disaggregation.non_cached_tokens";
constexpr std::string_view kMinPromptTokens = "cluster.disaggregation.min_prompt_tokens";
constexpr std::string_view kUncachedShare = "cluster.disaggregation.uncached_share";
constexpr std::string_view kPrefillRouter = "cluster.disaggregation.prefill_router";
constexpr std::string_view kDisaggregation = "cluster.disaggregation.";
constexpr std::string_view kKvTransfer = "cluster.kv_transfer.";
constexpr std::string_view kStageOrder = "cluster.disaggregation.stage_order";
constexpr std::string_view kFirstToken = "cluster.disaggregation.first_token";
constexpr std::string_view kKvLease = "cluster.kv_transfer.kv_lease";
constexpr std::string_view kInstancesPerHost = "cluster.kv_transfer.instances_per_host";
constexpr std::array<std::string_view, 2> kStageOrders = {"decode-first", "prefill-first"};
/// In the order of FirstToken.
constexpr std::array<std::string_view, 3> kFirstTokens = {"prefill", "decode", "transfer"};

// clang-format off
constexpr auto kDisaggregationOptions = std::to_array<Option>({
    {.path = kSystemName, .flag = "disaggregation", .unset = "llm-d; of SGLang and TensorRT-LLM their own",
     .help = "The system whose order of steps holds where prefill and decode are apart: llm-d, dynamo, production-stack, sglang, tensorrt-llm", .example = "dynamo",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.name; }},
    {.path = kPrefillInstances, .flag = "prefill-instances",
     .lowest = 1, .highest = kMaxPoolInstances, .unset = "none: every instance does both",
     .help = "Instances that compute prompts alone, the first ones; the others decode", .example = "2",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.prefill_instances; }},
    {.path = kDecodeInstances, .flag = "decode-instances",
     .lowest = 1, .highest = kMaxPoolInstances, .unset = "all but the prefill instances",
     .help = "Instances that decode; with the prefill instances they are all", .example = "6",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.decode_instances; }},
    {.path = kDeciderName, .flag = "decider", .unset = "the system's own",
     .help = "Which prompts are computed apart: never, always, prefix-based-pd-decider, isl-bounding, prefix-threshold", .example = "always",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.decider; }},
    {.path = kNonCachedTokens, .flag = "non-cached-tokens", .unit = "tokens",
     .lowest = 0, .highest = workload::kMaxTokensPerRequest, .unset = "the decider's own: 16, of isl-bounding 2048",
     .help = "A prompt is computed apart from so many tokens on that the decode instance does not hold", .example = "512",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.non_cached_tokens; }},
    {.path = kMinPromptTokens, .flag = "min-prompt-tokens", .unit = "tokens",
     .lowest = 0, .highest = workload::kMaxTokensPerRequest, .unset = "0",
     .help = "Shorter prompts are never computed apart (prefix-based-pd-decider)", .example = "1024",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.min_prompt_tokens; }},
    {.path = kUncachedShare, .flag = "uncached-share",
     .lowest = 0, .highest = 1, .unset = "0.7",
     .help = "A prompt of which so large a share is left to compute is computed apart (isl-bounding)", .example = "0.5",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.uncached_share; }},
    {.path = kStageOrder, .flag = "stage-order", .choices = kStageOrders, .unset = "the system's own",
     .help = "Which of a request's two instances is chosen first", .example = "prefill-first",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.stage_order; }},
    {.path = kFirstToken, .flag = "first-token", .choices = kFirstTokens, .unset = "the system's own: decode; of SGLang and TensorRT-LLM transfer",
     .help = "Which instance's first token the client gets; transfer: the prefill instance's, once the KV has moved", .example = "prefill",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.first_token; }},
    {.path = kPrefillRouter, .flag = "prefill-router", .unset = "as the router",
     .help = "The policy that chooses among prefill instances (see `ridgeline list routers`)", .example = "least-request",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.disaggregation.prefill_router; }},
});
// clang-format on

template <class Entry>
core::Result<const Entry*> found_at(std::string_view path, core::Result<const Entry*> found) {
  if (found) {
    return found;
  }
  core::Errors errors = found.error();
  errors.front().field = path;
  return core::fail(std::move(errors));
}

/// A parameter that the decider does not read would change nothing.
void check_decider_parameters(const DeciderEntry& decider, Findings& findings) {
  const auto refuse = [&](std::string_view path, bool reads) {
    if (findings.given(path) && !reads) {
      findings.ignored(path, fmt::format("the decider {} does not read it", decider.name));
    }
  };
  refuse(kNonCachedTokens, decider.reads_non_cached_tokens);
  refuse(kMinPromptTokens, decider.reads_min_prompt_tokens);
  refuse(kUncachedShare, decider.reads_uncached_share);
}

/// Where KV is pushed both legs are sent at once, and the decode instance answers.
void check_push(const ClusterSection& cluster, Findings& findings) {
  const auto rules = disaggregation_rules(cluster.disaggregation);
  if (!rules || transfer_mode(cluster.kv_transfer, rules->mode) == TransferMode::kAfterPrefill) {
    return;
  }
  if (findings.given(kStageOrder)) {
    findings.ignored(kStageOrder, "both instances are chosen at once where KV is pushed");
  }
  if (findings.given(kKvLease)) {
    findings.ignored(kKvLease, "pushed KV waits for no reader");
  }
  if (rules->first_token == FirstToken::kPrefill) {
    findings.problem(kFirstToken,
                     "found prefill, but where KV is pushed the decode instance has its request "
                     "before there is a token",
                     "decode");
  }
}

void check_numbers(const ClusterSection& cluster, Findings& findings) {
  const std::int64_t prefill = *cluster.disaggregation.prefill_instances;
  const std::int64_t instances = *cluster.instances;
  const std::int64_t decode = cluster.disaggregation.decode_instances.value_or(instances - prefill);
  if (!cluster.disaggregation.decode_instances && decode < 1) {
    findings.problem(
        kPrefillInstances,
        fmt::format("{} of {} instances compute prompts alone, which leaves none to decode",
                    prefill,
                    instances),
        fmt::format("--instances {}, one of each at least", prefill + 1));
    return;
  }
  if (prefill + decode != instances) {
    findings.problem(
        kDecodeInstances,
        fmt::format("{} prefill and {} decode instances are not the {} of cluster.instances",
                    prefill,
                    decode,
                    instances),
        "their sum is cluster.instances, with one of each at least");
  }
}

/// Servers of SGLang and TensorRT-LLM meet in ways of their own, and the token that the prefill
/// sampled comes with the KV.
void follow_engine(Findings& findings) {
  Scenario& scenario = findings.loaded().scenario;
  DisaggregationSection& section = scenario.run.cluster.disaggregation;
  const auto pools = read_pools(scenario.run.cluster, scenario.deployment);
  const EngineSection& engine =
      pools && !pools->empty() ? pools->front().deployment.engine : scenario.deployment.engine;
  if (!has_own_settings(engine)) {
    return;
  }
  constexpr std::string_view kPushes = "sglang";
  const std::string own(entry_of(engine).name);
  if (section.name && (*section.name == kPushes) != (own == kPushes)) {
    findings.problem(
        kSystemName, fmt::format("found {}, and the engine is {}", *section.name, own), own);
    return;
  }
  section.name = section.name.value_or(own);
  section.first_token = section.first_token.value_or(std::string(kFirstTokens.back()));
}

}  // namespace

std::span<const Option> disaggregation_options() {
  return kDisaggregationOptions;
}

core::Result<DisaggregationRules> disaggregation_rules(const DisaggregationSection& section) {
  const auto system = found_at(kSystemName,
                               disaggregation::find_system(section.name.value_or(
                                   std::string(disaggregation::systems().front().name))));
  if (!system) {
    return core::fail(system.error());
  }
  const auto decider = found_at(
      kDeciderName,
      disaggregation::find_decider(section.decider.value_or(std::string((*system)->decider))));
  if (!decider) {
    return core::fail(decider.error());
  }
  disaggregation::DeciderParameters parameters = (*decider)->defaults;
  if (section.non_cached_tokens) {
    parameters.non_cached_tokens = core::Tokens(*section.non_cached_tokens);
  }
  if (section.min_prompt_tokens) {
    parameters.min_prompt_tokens = core::Tokens(*section.min_prompt_tokens);
  }
  parameters.uncached_share = section.uncached_share.value_or(parameters.uncached_share);
  DisaggregationRules rules{.decider = (*decider)->make(parameters),
                            .order = (*system)->order,
                            .first_token = (*system)->first_token,
                            .mode = (*system)->mode};
  if (section.stage_order) {
    rules.order = *section.stage_order == kStageOrders.front() ? LegOrder::kDecodeFirst
                                                               : LegOrder::kPrefillFirst;
  }
  if (section.first_token) {
    const auto place = std::ranges::find(kFirstTokens, *section.first_token);
    rules.first_token = static_cast<FirstToken>(place - kFirstTokens.begin());
  }
  return rules;
}

void check_disaggregation(Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  if (!cluster.instances) {
    return;  // check_cluster() says so.
  }
  if (!cluster.disaggregation.prefill_instances) {
    for (const Option& option : options()) {
      const bool is_ours =
          option.path.starts_with(kDisaggregation) || option.path.starts_with(kKvTransfer);
      // Hosts are those of tiers and of nodes that are lost as well.
      const bool is_of_hosts = option.path == kInstancesPerHost &&
                               (cluster.kv_offload.has_tier() || names_hosts(cluster.faults));
      if (is_ours && !is_of_hosts && findings.given(option.path)) {
        findings.ignored(option.path,
                         "no instance computes prompts alone without "
                         "cluster.disaggregation.prefill_instances");
      }
    }
    return;
  }
  follow_engine(findings);
  check_numbers(cluster, findings);
  if (const auto rules = disaggregation_rules(cluster.disaggregation); !rules) {
    const core::Error& error = rules.error().front();
    findings.problem(error.field, error.message, error.hint);
    return;
  }
  const auto& system = **disaggregation::find_system(cluster.disaggregation.name.value_or("llm-d"));
  check_push(cluster, findings);
  check_decider_parameters(**disaggregation::find_decider(cluster.disaggregation.decider.value_or(
                               std::string(system.decider))),
                           findings);
  if (const auto& name = cluster.disaggregation.prefill_router; name) {
    if (const auto router = routing::find_router(*name); !router) {
      findings.problem(kPrefillRouter, router.error().front().message, router.error().front().hint);
    } else if ((*router)->make({})->needs().cache && *name != router_name(cluster.router)) {
      findings.problem(
          kPrefillRouter,
          fmt::format("{} follows KV events, which the router has to follow too", *name),
          "--router " + *name);
    }
  }
}

}  // namespace ridgeline::scenario
