// Dynamo's KV router against taking turns, on a recorded trace.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.hpp"
#include "core/result.hpp"
#include "lab/studies/fleet_run.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::studies {
namespace dynamo_ab {
namespace {

/// Figures of the published run.
constexpr std::int64_t kPublishedRequests = 23'608;
constexpr double kTurnsTtftMs = 63'652.0;
constexpr double kRouterTtftMs = 2'586.0;
constexpr double kTurnsE2eMs = 92'856.0;
constexpr double kRouterE2eMs = 19'112.0;
/// A ratio is of the published order of magnitude within this factor.
constexpr double kWithin = 10.0;

core::Result<metrics::Summary> replay(const std::string& trace, const char* router) {
  return run_scenario({{.path = "model", .text = "qwen3-32b"},
                       {.path = "gpu", .text = "h100"},
                       {.path = "percentiles", .text = "sketch"},
                       {.path = "cluster.instances", .text = "8"},
                       {.path = "cluster.router.name", .text = router},
                       {.path = "workload.trace", .text = trace},
                       {.path = "workload.trace_speed_up", .text = "0.8"}});
}

core::Result<Outcome> run_trace(const Lab& lab) {
  Outcome out;
  const std::string& trace = lab.options().trace;
  if (trace.empty()) {
    out.because = "the published run replays Mooncake's toolagent trace, which is not at hand";
    out.finding =
        "Nothing can be said without the requests: what the router gains is what their prompts "
        "share.";
    out.skipped = {{.part = "both routers", .needs = "--trace FILE, Mooncake's toolagent trace"}};
    return out;
  }
  std::vector<core::Result<metrics::Summary>> runs(2);
  core::for_each_job(runs.size(), lab.options().threads, [&](std::size_t job) {
    runs[job] = replay(trace, job == 0 ? "round-robin" : "dynamo");
  });
  StudyTable table{.name = "routers", .rows = {}};
  for (const auto& run : runs) {
    if (!run) {
      return core::fail(run.error());
    }
    const bool is_turns = &run == &runs.front();
    table.rows.push_back(row("router",
                             is_turns ? "round-robin" : "dynamo",
                             "requests",
                             run->completed,
                             "ttft_mean_ms",
                             run->client.of(metrics::Metric::kTtft)->of(metrics::Statistic::kMean),
                             "published_ttft_mean_ms",
                             is_turns ? kTurnsTtftMs : kRouterTtftMs,
                             "e2e_mean_ms",
                             run->client.of(metrics::Metric::kE2e)->of(metrics::Statistic::kMean),
                             "published_e2e_mean_ms",
                             is_turns ? kTurnsE2eMs : kRouterE2eMs,
                             "cached_share",
                             static_cast<double>(run->total_cached_tokens) /
                                 static_cast<double>(run->total_input_tokens)));
  }
  out.tables = {std::move(table)};
  const double ratio = runs[0]->client.of(metrics::Metric::kTtft)->of(metrics::Statistic::kMean) /
                       runs[1]->client.of(metrics::Metric::kTtft)->of(metrics::Statistic::kMean);
  const double published = kTurnsTtftMs / kRouterTtftMs;
  const bool is_the_trace = runs[0]->requests() == kPublishedRequests;
  out.by_rule = !is_the_trace  ? Verdict::kUndecided
                : ratio <= 1.0 ? Verdict::kRefuted
                : ratio > published / kWithin && ratio < published * kWithin
                    ? Verdict::kConfirmed
                    : Verdict::kPartlyConfirmed;
  out.because =
      fmt::format("by turns the mean time to first token is {:.2f} times that of the KV router{}",
                  ratio,
                  is_the_trace ? ""
                               : fmt::format(", on another trace: {} requests, not {}",
                                             runs[0]->requests(),
                                             kPublishedRequests));
  out.finding = fmt::format(
      "Published: {:.1f} times. How many GPUs an instance had is not; here one.", published);
  return out;
}

}  // namespace
}  // namespace dynamo_ab

Study study_dynamo_ab() {
  return {.id = "dynamo-ab",
          .title = "Dynamo's KV router against taking turns",
          .claim =
              "On Mooncake's toolagent trace Dynamo's KV router lowers the mean time to first "
              "token from 63.7 to 2.6 s.",
          .arms = {{.name = "kernel", .preset = "kernel"}},
          .held_fixed = "Qwen3-32B on eight H100s, the trace at 0.8 times its speed",
          .refuted_if =
              "the KV router does not lower the mean time to first token (partly: by more or less "
              "than a tenth or ten times the published)",
          .controls = "round robin",
          .reference = Reference::kMeasured,
          .published = Verdict::kConfirmed,
          .scope = "Dynamo's comparison: four means",
          .not_tested = "KV events: the policy remembers what it sent",
          .needs_tables = false,
          .run = dynamo_ab::run_trace};
}

}  // namespace ridgeline::studies
