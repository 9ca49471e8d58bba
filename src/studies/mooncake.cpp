// Prefill and decode apart against instances that do both, on a recorded trace of long prompts.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.hpp"
#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "scenario/scenario.hpp"
#include "studies/fleet_run.hpp"
#include "studies/lab.hpp"
#include "studies/registry.hpp"
#include "studies/study.hpp"

namespace ridgeline::studies {
namespace mooncake {
namespace {

using scenario::Override;

/// How much faster than it was recorded the trace comes.
constexpr auto kSpeeds = std::to_array<double>({0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0});
/// A speed is sustained if this share of the requests meets both targets.
constexpr double kAttained = 0.9;
/// Requests within the targets, over those of instances that do both (arXiv 2407.00079).
constexpr double kPublished = 1.75;

/// The paper's instances are eight A800 each, of a network of the shape of Llama-2-70B; its targets
/// on a recorded trace are 30 s to the first token and 0.1 s between tokens. It has twenty; here
/// four, so that a tenth of its traffic fills them.
std::vector<Override> four_instances(const std::string& trace, double speed) {
  return {{.path = "model", .text = "llama-3.1-70b"},
          {.path = "gpu", .text = "a100-80gb"},
          {.path = "engine.tensor_parallel_size", .text = "8"},
          {.path = "percentiles", .text = "sketch"},
          {.path = "slo.ttft", .text = "30s"},
          {.path = "slo.tpot", .text = "100ms"},
          {.path = "cluster.instances", .text = "4"},
          {.path = "workload.trace", .text = trace},
          {.path = "workload.trace_speed_up", .text = fmt::format("{}", speed)}};
}

struct Plan {
  const char* name;
  std::vector<Override> settings;
};

/// vLLM of 2024 put prompts first, whole, and had no cache of prefixes; today's vLLM has both.
std::vector<Plan> plans() {
  const std::vector<Override> together = {
      {.path = "cluster.router.name", .text = "least-request"}};
  const std::vector<Override> apart = {
      {.path = "cluster.router.name", .text = "llm-d"},
      {.path = "cluster.disaggregation.prefill_instances", .text = "2"},
      {.path = "cluster.disaggregation.decider", .text = "always"},
      {.path = "cluster.kv_transfer.transfer_mode", .text = "layer-wise"},
      {.path = "cluster.kv_transfer.transfer_bandwidth", .text = "100GB/s"}};
  return {{.name = "together, as in 2024",
           .settings = settings_of(together,
                                   {{.path = "engine.enable_chunked_prefill", .text = "false"},
                                    {.path = "engine.enable_prefix_caching", .text = "false"}})},
          {.name = "together, chunks and cache",
           .settings = {{.path = "cluster.router.name", .text = "llm-d"}}},
          {.name = "apart", .settings = apart}};
}

/// What one plan gives at one speed.
struct Point {
  double good_share = 0.0;
  document::Node row;
};

core::Result<Point> point_of(const std::string& trace, double speed, const Plan& plan) {
  const auto summary = run_scenario(settings_of(four_instances(trace, speed), plan.settings));
  if (!summary) {
    return core::fail(summary.error());
  }
  using metrics::Metric;
  using metrics::Statistic;
  const double good = summary->good_share.value_or(0.0);
  return Point{
      .good_share = good,
      .row = row("speed",
                 speed,
                 "instances",
                 plan.name,
                 "requests",
                 summary->requests(),
                 "ttft_mean_s",
                 summary->client.of(Metric::kTtft)->of(Statistic::kMean) / 1e3,
                 "tpot_mean_ms",
                 summary->client.of(Metric::kTpot)->of(Statistic::kMean),
                 "good_share",
                 good,
                 "cached_share",
                 static_cast<double>(summary->total_cached_tokens) /
                     static_cast<double>(summary->total_input_tokens))};
}

core::Result<Outcome> run_trace(const Lab& lab) {
  Outcome out;
  const std::string& trace = lab.options().trace;
  if (trace.empty()) {
    out.because = "the claim is of recorded requests, which are not at hand";
    out.finding = "Nothing can be said without the requests: their prompts are what matters.";
    out.skipped = {{.part = "all plans", .needs = "--trace FILE, Mooncake's conversation trace"}};
    return out;
  }
  const std::vector<Plan> all = plans();
  std::vector<core::Result<Point>> points(kSpeeds.size() * all.size(), Point{});
  core::for_each_job(points.size(), lab.options().threads, [&](std::size_t job) {
    points[job] = point_of(trace, kSpeeds[job / all.size()], all[job % all.size()]);
  });
  StudyTable table{.name = "speeds", .rows = {}};
  std::vector<double> sustained(all.size(), 0.0);
  std::vector<bool> holds(all.size(), true);
  for (std::size_t job = 0; job < points.size(); ++job) {
    if (!points[job]) {
      return core::fail(points[job].error());
    }
    const std::size_t plan = job % all.size();
    table.rows.push_back(points[job]->row);
    holds[plan] = holds[plan] && points[job]->good_share >= kAttained;
    sustained[plan] = holds[plan] ? kSpeeds[job / all.size()] : sustained[plan];
  }
  out.tables = {std::move(table)};
  out.skipped = {{.part = "early rejection",
                  .needs = "a gateway that rejects by the decode load it foresees, which is the "
                           "paper's own scheduler"}};
  const double gain = sustained[0] > 0.0 ? sustained[2] / sustained[0] : 0.0;
  out.by_rule = sustained[0] == 0.0         ? Verdict::kUndecided
                : gain <= 1.0               ? Verdict::kRefuted
                : gain >= 1.0 + (kPublished - 1.0) / 2 ? Verdict::kConfirmed
                                            : Verdict::kPartlyConfirmed;
  out.because = fmt::format(
      "{} of the requests within both targets: together as in 2024 up to {:g} times the recorded "
      "speed, apart up to {:g} times",
      kAttained,
      sustained[0],
      sustained[2]);
  out.finding = fmt::format(
      "Against vLLM as it is today, with chunks and a cache of prefixes, which sustains {:g} times "
      "the speed, apart gains {:g}.",
      sustained[1],
      sustained[1] > 0.0 ? sustained[2] / sustained[1] : 0.0);
  return out;
}

}  // namespace
}  // namespace mooncake

Study study_mooncake() {
  return {.id = "mooncake",
          .title = "Prefill and decode apart on recorded long prompts",
          .claim =
              "On a recorded trace prefill and decode apart serve 75 % more requests within 30 s "
              "to the first token and 0.1 s between tokens than instances that do both.",
          .arms = {{.name = "kernel", .preset = "kernel"}},
          .held_fixed = "Llama-3.1-70B on four times eight A100s, Mooncake's conversation trace at "
                        "several speeds",
          .refuted_if = "apart sustains no higher speed than together (partly: less than half of "
                        "the published gain)",
          .controls = "the same instances with prefill and decode together, as vLLM was in 2024 and "
                      "as it is",
          .reference = Reference::kMeasured,
          .published = Verdict::kConfirmed,
          .scope = "Mooncake (arXiv 2407.00079): one figure of its replay",
          .not_tested = "early rejection, the pool of KV over all hosts, and the times between "
                        "single tokens: the target here is of each request's mean",
          .needs_tables = false,
          .run = mooncake::run_trace};
}

}  // namespace ridgeline::studies
