// How old may be what a router knows, before it does worse than chance?
#include "lab/studies/staleness.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/fleet_run.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::studies {
namespace {

/// Rate of one instance of Llama-3.1-8B on an H100, at the lengths below: near four fifths of what
/// it can do.
constexpr double kRatePerInstance = 9.0;
constexpr const char* kPromptLengths =
    "{distribution: lognormal, mean: 2000, std: 3000, max: 30000}";
constexpr std::int64_t kAnswer = 200;
constexpr const char* kChance = "random";

/// One fleet, one policy, one delay.
struct Case {
  std::int64_t instances = 0;
  double delay_s = 0.0;
  std::string policy;
  routing::Needs needs;
};

/// What it did.
struct Waiting {
  double ttft_mean_ms = 0.0;
  double ttft_p99_ms = 0.0;
};

/// Whether anything that the policy reads can be old. The oracle knows the truth, whatever is said.
bool reads_old_news(const routing::Needs& needs) {
  return needs.own || needs.first_token || needs.gauges;
}

/// Only the first name of a policy that has several.
std::vector<const routing::RouterEntry*> policies_of(const StalenessPlan& plan) {
  std::vector<const routing::RouterEntry*> found;
  for (const routing::RouterEntry& router : routing::routers()) {
    const bool wanted = plan.policies.empty() ||
                        std::ranges::find(plan.policies, router.name) != plan.policies.end();
    if (wanted &&
        std::ranges::find(found, router.make, &routing::RouterEntry::make) == found.end()) {
      found.push_back(&router);
    }
  }
  return found;
}

/// The first delay stands for policies that nothing can be old for.
std::vector<Case> cases(const StalenessPlan& plan) {
  std::vector<Case> all;
  for (const std::int64_t instances : plan.sizes) {
    for (const routing::RouterEntry* router : policies_of(plan)) {
      const routing::Needs needs = router->make({})->needs();
      for (const double delay : plan.delays_s) {
        if (delay == plan.delays_s.front() || reads_old_news(needs)) {
          all.push_back({.instances = instances,
                         .delay_s = delay,
                         .policy = std::string(router->name),
                         .needs = needs});
        }
      }
    }
  }
  return all;
}

/// Every policy and delay gets these requests. Gauges are read once per delay, ends of requests
/// are known after it.
core::Result<Waiting> wait_of(const Case& one, const StalenessPlan& plan) {
  std::vector<scenario::Override> settings = {
      {.path = "model", .text = kLlama8b},
      {.path = "gpu", .text = "h100"},
      {.path = "percentiles", .text = "sketch"},
      {.path = "workload.request_rate",
       .text = fmt::format("{}", kRatePerInstance * static_cast<double>(one.instances))},
      {.path = "workload.num_prompts",
       .text = fmt::format("{}", plan.requests_per_instance * one.instances)},
      {.path = "workload.input_len", .text = kPromptLengths},
      {.path = "workload.output_len", .text = fmt::format("{}", kAnswer)},
      {.path = "cluster.instances", .text = fmt::format("{}", one.instances)},
      {.path = "cluster.router.name", .text = one.policy}};
  const std::string delay = fmt::format("{}s", one.delay_s);
  if (one.needs.own || one.needs.first_token) {
    settings.push_back({.path = "cluster.gateway.notice_latency", .text = delay});
  }
  if (one.needs.gauges) {
    settings.push_back({.path = "cluster.gateway.refresh_metrics_interval", .text = delay});
  }
  const auto summary = run_scenario(settings);
  if (!summary) {
    return core::fail(summary.error());
  }
  const auto& ttft = summary->client.of(metrics::Metric::kTtft);
  return Waiting{.ttft_mean_ms = ttft->of(metrics::Statistic::kMean),
                 .ttft_p99_ms = ttft->of(metrics::Statistic::kP99)};
}

/// The least delay from which a policy keeps being worse than chance; nothing where it does not at
/// the longest.
struct FleetTurn {
  std::int64_t instances = 0;
  std::string policy;
  std::optional<double> delay_s;
};

std::vector<FleetTurn> turns_of(const std::vector<Case>& all,
                                const std::vector<Waiting>& found,
                                const std::map<std::int64_t, double>& chance) {
  std::vector<FleetTurn> turns;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Case& one = all[i];
    if (!reads_old_news(one.needs)) {
      continue;
    }
    if (turns.empty() || turns.back().policy != one.policy ||
        turns.back().instances != one.instances) {
      turns.push_back({.instances = one.instances, .policy = one.policy, .delay_s = {}});
    }
    const bool worse = found[i].ttft_mean_ms > chance.at(one.instances);
    auto& delay = turns.back().delay_s;
    delay = !worse ? std::nullopt : delay ? delay : std::optional(one.delay_s);
  }
  return turns;
}

void decide(const std::vector<FleetTurn>& turns, double longest, Outcome& out) {
  const auto behind =
      std::ranges::count_if(turns, [](const FleetTurn& turn) { return turn.delay_s.has_value(); });
  out.by_rule = behind == std::ssize(turns) ? Verdict::kConfirmed
                : behind == 0               ? Verdict::kRefuted
                                            : Verdict::kPartlyConfirmed;
  out.because = fmt::format(
      "{} of {} pairs of policy and fleet wait longer than under chance when "
      "what they know is {:g} s old",
      behind,
      turns.size(),
      longest);
  std::vector<std::string> parts;
  for (const FleetTurn& turn : turns) {
    parts.push_back(
        turn.delay_s
            ? fmt::format("{} over {} from {:g} s", turn.policy, turn.instances, *turn.delay_s)
            : fmt::format("{} over {} never", turn.policy, turn.instances));
  }
  out.finding = fmt::format("Behind chance: {}.", fmt::join(parts, "; "));
}

core::Result<Outcome> run_staleness(const Lab& lab) {
  return judge_staleness({}, lab);
}

}  // namespace

core::Result<Outcome> judge_staleness(const StalenessPlan& plan, const Lab& lab) {
  const std::vector<Case> all = cases(plan);
  std::vector<core::Result<Waiting>> simulated(all.size());
  core::for_each_job(all.size(), lab.options().threads, [&](std::size_t job) {
    simulated[job] = wait_of(all[job], plan);
  });
  std::vector<Waiting> found;
  std::map<std::int64_t, double> chance;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!simulated[i]) {
      return core::fail(simulated[i].error());
    }
    found.push_back(*simulated[i]);
    if (all[i].policy == kChance) {
      chance[all[i].instances] = found.back().ttft_mean_ms;
    }
  }
  const auto turns = turns_of(all, found, chance);
  Outcome out;
  out.tables = {{.name = "waiting", .rows = {}}, {.name = "behind_chance", .rows = {}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    out.tables[0].rows.push_back(row("instances",
                                     all[i].instances,
                                     "policy",
                                     all[i].policy,
                                     "delay_s",
                                     all[i].delay_s,
                                     "ttft_mean_ms",
                                     found[i].ttft_mean_ms,
                                     "ttft_p99_ms",
                                     found[i].ttft_p99_ms,
                                     "over_chance",
                                     found[i].ttft_mean_ms / chance.at(all[i].instances)));
  }
  for (const FleetTurn& turn : turns) {
    out.tables[1].rows.push_back(row("instances",
                                     turn.instances,
                                     "policy",
                                     turn.policy,
                                     "from_delay_s",
                                     turn.delay_s ? cell(*turn.delay_s) : document::Node()));
  }
  decide(turns, plan.delays_s.back(), out);
  return out;
}

Study study_staleness() {
  return {.id = "staleness",
          .title = "How old may be what a router knows",
          .claim =
              "A policy that follows loads does worse than chance once what it knows is seconds "
              "old.",
          .arms = {{.name = "kernel", .preset = "kernel"}},
          .held_fixed =
              "Llama-3.1-8B on H100s, 9 requests per second and instance, lognormal prompts of "
              "2,000 tokens in the mean, answers of 200, no shared prefixes; the same requests "
              "for every policy",
          .refuted_if =
              "no policy's mean time to first token at a delay of 5 s is above that of random "
              "routing (ours)",
          .controls = "random routing, and the oracle that knows every queue",
          .reference = Reference::kArithmetic,
          .published = Verdict::kNone,
          .scope = "fleets of 8 and 64 instances, delays from 50 ms to 5 s",
          .not_tested = "prompts with shared prefixes, whose policies gain by what they remember",
          .needs_tables = false,
          .run = run_staleness};
}

}  // namespace ridgeline::studies
