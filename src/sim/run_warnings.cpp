#include "sim/run_warnings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/options.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/memory_limits.hpp"
#include "scenario/named_options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/admission.hpp"
#include "sim/fleet_warnings.hpp"
#include "workload/carried.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {
namespace {

/// The deployments of a run.
std::vector<const scenario::Deployment*> deployments_in(const scenario::Resolved& resolved) {
  std::vector<const scenario::Deployment*> all;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    all.push_back(pool.deployment.get());
  }
  return all.empty() ? std::vector{resolved.deployment.get()} : all;
}

/// Whether the engine takes no prompt that is longer than a step: one with a switch of its own for
/// cutting prompts, turned off. (vLLM raises the budget of a step then.)
bool refuses_long_steps(const scenario::Deployment& deployment) {
  constexpr std::string_view kCuts = "enable_chunked_prefill";
  const bool has_switch = deployment.engine.own != nullptr &&
                          scenario::own_key(deployment.section.engine, kCuts) == kCuts;
  return has_switch && !deployment.engine.enable_chunked_prefill;
}

constexpr std::string_view kStepBudget = "max_num_batched_tokens";

/// ", or than max_num_tokens 8192, as prompts are not cut", where that is so.
std::string step_limit_text(const scenario::Resolved& resolved) {
  for (const scenario::Deployment* deployment : deployments_in(resolved)) {
    if (refuses_long_steps(*deployment)) {
      return fmt::format(", or than {} {}, as prompts are not cut",
                         scenario::own_key(deployment->section.engine, kStepBudget),
                         deployment->engine.max_num_batched_tokens.value());
    }
  }
  return {};
}

/// The flags that make room for longer requests, by the words of the engines that run.
std::vector<std::string> flags_of_room(const scenario::Resolved& resolved) {
  std::vector<std::string> flags = {"--max-model-len"};
  const auto add = [&](const scenario::Deployment& deployment, std::string_view vllm) {
    std::string flag =
        "--" + scenario::flag_word(scenario::own_key(deployment.section.engine, vllm));
    if (std::ranges::find(flags, flag) == flags.end()) {
      flags.push_back(std::move(flag));
    }
  };
  for (const scenario::Deployment* deployment : deployments_in(resolved)) {
    add(*deployment, "gpu_memory_utilization");
    if (refuses_long_steps(*deployment)) {
      add(*deployment, kStepBudget);
    }
  }
  flags.emplace_back("--tensor-parallel-size");
  return flags;
}

/// What happened to requests that a user may not expect.
void warn_of_outcomes(const scenario::Resolved& resolved,
                      const metrics::Summary& summary,
                      core::Warnings& warnings) {
  const auto& options = resolved.deployment->engine;
  const std::int64_t rejected =
      summary.count(domain::Outcome::kRejected) - rejected_at_gateway(summary);
  if (rejected > 0) {
    const RejectionText text = rejection_text(resolved);
    warnings.push_back({.code = "W-rejected",
                        .message = fmt::format(
                            "{} requests were rejected: their prompt is {}", rejected, text.limits),
                        .hint = text.flags});
  }
  if (const std::int64_t capped = summary.count(domain::Outcome::kLengthCapped); capped > 0) {
    warnings.push_back({.code = "W-length-capped",
                        .message = fmt::format("{} requests were cut short by max_model_len {}",
                                               capped,
                                               options.max_model_len.value()),
                        .hint = "--max-model-len"});
  }
}

/// What requests carry and this run does not heed.
void warn_of_carried(const scenario::Resolved& resolved,
                     const workload::Carried& carried,
                     core::Warnings& warnings) {
  const auto& options = resolved.deployment->engine;
  const auto warn = [&](std::string_view code, std::string message, std::string hint) {
    warnings.push_back(
        {.code = std::string(code), .message = std::move(message), .hint = std::move(hint)});
  };
  if (carried.with_priority > 0 && options.policy == engine::SchedulingPolicy::kFcfs) {
    warn("W-ignored-priority",
         fmt::format(
             "{} of {} requests have a priority other than 0, which scheduling_policy fcfs ignores",
             carried.with_priority,
             carried.requests),
         "--scheduling-policy priority");
  }
  if (carried.with_adapter > 0 && options.max_loras == 0) {
    warn("W-ignored-adapter",
         fmt::format("{} of {} requests name one of {} adapters: with enable_lora off they run as "
                     "the network itself, with KV blocks of their own",
                     carried.with_adapter,
                     carried.requests,
                     carried.adapters.size()),
         fmt::format("--enable-lora --max-loras {}", carried.adapters.size()));
  }
  if (carried.models.size() > 1 && resolved.pools.empty()) {
    constexpr std::size_t kMostNamed = 3;
    const std::span<const std::string> named(carried.models.data(),
                                             std::min(carried.models.size(), kMostNamed));
    warn("W-ignored-model",
         fmt::format("requests name {} models ({}{}): all of them run on {}",
                     carried.models.size(),
                     fmt::join(named, ", "),
                     carried.models.size() > kMostNamed ? ", ..." : "",
                     resolved.deployment->network.name),
         {});
  }
  const auto& router = resolved.run.cluster.router.name;
  const bool by_session = router && (*router == "session" || *router == "production-stack-session");
  if (by_session && resolved.run.cluster.instances && carried.with_session == 0) {
    warn("W-no-sessions",
         fmt::format(
             "the policy {} keeps the requests of a session together, and no request has one",
             *router),
         "--trace FILE with sessions, or another --router");
  }
  if (carried.with_media > 0) {
    warn("W-unpriced-media",
         fmt::format("{} of {} requests carry images, audios or videos: their tokens are part of "
                     "the prompt, but encoding them takes no time",
                     carried.with_media,
                     carried.requests),
         {});
  }
}

void warn_of_overload(const scenario::Resolved& resolved,
                      const metrics::Summary& summary,
                      core::Warnings& warnings) {
  if (!summary.overload) {
    return;
  }
  const statistics::Backlog& backlog = summary.overload->backlog;
  const std::int64_t ranks = resolved.workload.ranks;
  const bool at_client = summary.overload->at_client;
  const std::string_view consequence =
      at_client           ? "they wait at the client, which no latency counts"
      : backlog.whole_run ? "every latency depends on how long the run is"
                          : "latencies depend on how long that lasts";
  // Times of faults count from the start of the run.
  const std::string faults =
      summary.fleet && summary.fleet->operations
          ? summary.fleet->operations->faults_in(summary.overload->first_s + backlog.begin_s,
                                                 summary.overload->first_s + backlog.end_s)
          : std::string();
  const std::string_view more_capacity = at_client ? ", or a higher --max-concurrency"
                                         : resolved.deployment->engine.max_loras > 0
                                             ? ", or a higher --max-loras"
                                             : "";
  warnings.push_back(
      {.code = "W-overloaded",
       .message = fmt::format(
           "{}requests come faster than they are served{}: the wait grows by {:.2g} s per second, "
           "about {:.4g} of {:.4g} req/s are {}{}, and {}",
           backlog.whole_run
               ? ""
               : fmt::format("from {:.4g} s to {:.4g} s ", backlog.begin_s, backlog.end_s),
           faults.empty() ? "" : fmt::format(" under faults ({})", faults),
           backlog.wait_growth,
           backlog.sustainable_rate,
           backlog.offered_rate,
           summary.overload->served_only ? "served" : "sustainable",
           ranks > 1 ? fmt::format(" by each of {} ranks", ranks) : "",
           consequence),
       .hint = fmt::format(
           "{}fewer requests per second, or more capacity{}",
           faults.empty() ? "" : "the same run without its faults says what they did to it; ",
           more_capacity)});
}

/// Prompts of a trace that could share prefixes, where the network's cache cannot.
void warn_of_prefixes(const scenario::Resolved& resolved,
                      const workload::Source& source,
                      core::Warnings& warnings) {
  // A setting of the user's own is answered before the run, or turns caching off on purpose.
  const auto setting = std::ranges::find(
      resolved.provenance, "engine.enable_prefix_caching", &scenario::Provenance::path);
  const bool is_default = setting != resolved.provenance.end() &&
                          setting->origin == scenario::Provenance::Origin::kDefault;
  if (is_default && source.names_prompts() && !resolved.deployment->engine.enable_prefix_caching &&
      resolved.deployment->memory.has_states()) {
    warnings.push_back(scenario::prefix_caching_off());
  }
}

/// Requests that expire at the gateway sooner than others are answered.
void warn_of_short_waits(const scenario::Resolved& resolved,
                         const metrics::Summary& summary,
                         core::Warnings& warnings) {
  const auto& section = resolved.run.cluster.admission;
  const auto& ttft = summary.client.of(metrics::Metric::kTtft);
  const core::Duration ttl = scenario::admission_settings(section).request_ttl;
  if (section.flow_control.value_or(false) && ttft &&
      ttl.to_milliseconds() < ttft->of(metrics::Statistic::kP50)) {
    warnings.push_back(
        {.code = "W-short-ttl",
         .message = fmt::format("requests expire at the gateway after {}s, and the median TTFT is "
                                "{:.3g}s",
                                ttl.to_seconds(),
                                ttft->of(metrics::Statistic::kP50) / 1000.0),
         .hint = "--request-ttl"});
  }
}

}  // namespace

std::int64_t rejected_at_gateway(const metrics::Summary& summary) {
  std::int64_t requests = summary.fleet ? summary.fleet->refused : 0;
  if (summary.fleet && summary.fleet->admission) {
    for (const auto& refused : summary.fleet->admission->rejected) {
      requests += refused.requests;
    }
    requests -= summary.count(domain::Outcome::kExpired);
  }
  return requests;
}

RejectionText rejection_text(const scenario::Resolved& resolved) {
  return {.limits = fmt::format("longer than max_model_len {} or than the KV cache{}",
                                resolved.deployment->engine.max_model_len.value(),
                                step_limit_text(resolved)),
          .flags = fmt::format("{}", fmt::join(flags_of_room(resolved), ", "))};
}

void add_run_warnings(const scenario::Resolved& resolved,
                      const metrics::Summary& summary,
                      const workload::Source& source,
                      core::Warnings& warnings) {
  warn_of_outcomes(resolved, summary, warnings);
  warn_of_short_waits(resolved, summary, warnings);
  warn_of_overload(resolved, summary, warnings);
  warn_of_carried(resolved, source.carried(), warnings);
  warn_of_prefixes(resolved, source, warnings);
  add_fleet_warnings(resolved, summary, warnings);
  for (auto& warning : source.warnings()) {
    if (!warning.code.starts_with(workload::kBlisWarning) || resolved.run.compat == "blis") {
      warnings.push_back(std::move(warning));
    }
  }
}

}  // namespace ridgeline::sim
