// DistServe's formula for prefill apart, and when taking prefill and decode apart pays.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/fleet_run.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "metrics/summary.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::studies {
namespace distserve {
namespace {

using scenario::Override;

constexpr auto kLoads = std::to_array<double>({0.3, 0.5, 0.7, 0.8});
/// The formula holds if the simulated mean is within this share of it.
constexpr double kTolerance = 0.05;
/// Requests per second, for two GPUs.
constexpr auto kRates = std::to_array<double>({1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0});
/// Targets of the time per output token; DistServe's of a chatbot on a 13B network is 100 ms, with
/// 250 ms to the first token.
constexpr auto kTpotTargetsMs = std::to_array<std::int64_t>({25, 30, 40, 60, 100});
/// A rate is sustained if this share of the requests meets both targets.
constexpr double kAttained = 0.9;

std::vector<Override> two_gpus(double rate) {
  return {{.path = "model", .text = "llama-2-13b"},
          {.path = "gpu", .text = "a100-80gb"},
          {.path = "cluster.instances", .text = "2"},
          {.path = "cluster.router.name", .text = "least-request"},
          {.path = "workload.request_rate", .text = fmt::format("{}", rate)}};
}

const std::vector<Override>& apart() {
  static const std::vector<Override> kApart = {
      {.path = "cluster.disaggregation.prefill_instances", .text = "1"},
      {.path = "cluster.disaggregation.decider", .text = "always"}};
  return kApart;
}

/// The prefill instance alone.
struct Prefill {
  double mean_s = 0.0;     ///< From a prompt's arrival there to the end of its step.
  double service_s = 0.0;  ///< The step's part of it.
};

/// One prompt per step, KV that moves in no time: the queue of prompts alone.
core::Result<Prefill> prefill_at(double rate) {
  constexpr std::int64_t kRequests = 20'000;
  const auto summary = run_scenario(
      settings_of(settings_of(two_gpus(rate), apart()),
                  {{.path = "workload.num_prompts", .text = fmt::format("{}", kRequests)},
                   {.path = "workload.input_len", .text = "512"},
                   {.path = "workload.output_len", .text = "2"},
                   {.path = "percentiles", .text = "sketch"},
                   {.path = "engine.max_num_batched_tokens", .text = "512"},
                   {.path = "engine.enable_prefix_caching", .text = "false"},
                   {.path = "cluster.kv_transfer.transfer_bandwidth", .text = "1000TB/s"},
                   {.path = "cluster.kv_transfer.transfer_setup", .text = "0s"}}));
  if (!summary) {
    return core::fail(summary.error());
  }
  constexpr double kMilliseconds = 1e3;
  constexpr std::size_t kPrefillPart = 1;  // Index in metrics::kTtftParts.
  const metrics::FleetSummary& fleet = *summary->fleet;
  return Prefill{
      .mean_s = fleet.transfers->ttft_parts_ms[kPrefillPart].value_or(0.0) / kMilliseconds,
      .service_s = fleet.instances.front().busy.value_or(0.0) * summary->duration_s.value_or(0.0) /
                   static_cast<double>(kRequests)};
}

/// R D^2 / (2 (1 - R D)): the mean wait in a queue with equal services (DistServe, section 3.1).
double wait_by_formula(double service_s, double rate) {
  return rate * service_s * service_s / (2.0 * (1.0 - rate * service_s));
}

/// Largest distance from the formula, as a share of it.
core::Result<double> hold_formula(StudyTable& table) {
  constexpr double kAlone = 0.01;  // Requests per second: no queue.
  const auto alone = prefill_at(kAlone);
  if (!alone) {
    return core::fail(alone.error());
  }
  double worst = 0.0;
  for (const double load : kLoads) {
    const double rate = load / alone->service_s;
    const auto simulated = prefill_at(rate);
    if (!simulated) {
      return core::fail(simulated.error());
    }
    const double formula = alone->mean_s + wait_by_formula(alone->service_s, rate);
    worst = std::max(worst, std::abs(simulated->mean_s / formula - 1.0));
    table.rows.push_back(row("load",
                             load,
                             "request_rate",
                             rate,
                             "formula_s",
                             formula,
                             "simulated_s",
                             simulated->mean_s,
                             "simulated_over_formula",
                             simulated->mean_s / formula));
  }
  return worst;
}

/// The highest of the rates that is sustained with all below it; 0 where none is.
core::Result<double> sustained(std::int64_t tpot_ms, const std::vector<Override>& how) {
  return highest_sustained(kRates, kAttained, [&](double rate) {
    return settings_of(settings_of(two_gpus(rate), how),
                       {{.path = "workload.num_prompts", .text = "400"},
                        {.path = "workload.input_len", .text = "512"},
                        {.path = "workload.output_len", .text = "200"},
                        {.path = "engine.enable_chunked_prefill", .text = "false"},
                        {.path = "slo.ttft", .text = "250ms"},
                        {.path = "slo.tpot", .text = fmt::format("{}ms", tpot_ms)}});
  });
}

core::Result<Outcome> run_both(const Lab& /*lab*/) {
  Outcome out;
  out.tables = {{"formula", {}}, {"sustained", {}}};
  const auto worst = hold_formula(out.tables[0]);
  if (!worst) {
    return core::fail(worst.error());
  }
  double most = 0.0;
  std::vector<std::string> rates;
  for (const std::int64_t tpot : kTpotTargetsMs) {
    const auto together = sustained(tpot, {});
    const auto split = sustained(tpot, apart());
    if (!together || !split) {
      return core::fail(together ? split.error() : together.error());
    }
    const double ratio = *together > 0.0 ? *split / *together : 0.0;
    most = std::max(most, ratio);
    rates.push_back(fmt::format("{:g} and {:g}/s at {} ms", *together, *split, tpot));
    out.tables[1].rows.push_back(row("tpot_target_ms",
                                     tpot,
                                     "together_per_s",
                                     *together,
                                     "apart_per_s",
                                     *split,
                                     "apart_over_together",
                                     *together > 0.0 ? cell(ratio) : document::Node()));
  }
  const bool holds = *worst <= kTolerance;
  const bool pays = most > 1.0;
  out.by_rule = holds && pays   ? Verdict::kConfirmed
                : holds || pays ? Verdict::kPartlyConfirmed
                                : Verdict::kRefuted;
  out.because = fmt::format(
      "prefill apart is within {:.1f} % of the formula; prefill and decode apart sustain at most "
      "{:.2f} times the rate",
      100.0 * *worst,
      most);
  out.finding = fmt::format(
      "Two GPUs sustain, together and apart, {}: apart, one GPU computes all prompts. The "
      "published "
      "factors are of plans that choose parallelism and numbers of both kinds, against engines of "
      "2023.",
      fmt::join(rates, ", "));
  return out;
}

}  // namespace
}  // namespace distserve

Study study_distserve() {
  return {.id = "distserve",
          .title = "Prefill apart as a queue, and when it pays",
          .claim =
              "Prefill apart waits as a queue with equal services, D + R D^2 / (2 (1 - R D)), and "
              "prefill and decode apart sustain up to 7.4 times the rate within targets.",
          .arms = {{.name = "kernel", .preset = "kernel"}},
          .held_fixed = "Llama-2-13B on two A100s, prompts of 512 tokens, Poisson arrivals",
          .refuted_if =
              "prefill apart is more than 5 % off the formula at some load, and apart sustains a "
              "higher rate at no target (partly: one of the two)",
          .controls = "the same two GPUs with prefill and decode together",
          .reference = Reference::kArithmetic,
          .published = Verdict::kConfirmed,
          .scope = "DistServe (OSDI 2024): its formula; a chatbot's targets on a 13B network",
          .not_tested = "OPT networks, ShareGPT's lengths, and plans of several GPUs per instance",
          .needs_tables = false,
          .run = distserve::run_both};
}

}  // namespace ridgeline::studies
