#include "verbs/run/make_result.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/version.hpp"
#include "document/document.hpp"
#include "domain/record.hpp"
#include "latency/accuracy/bands.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/format.hpp"
#include "scenario/accuracy_question.hpp"
#include "scenario/deployment.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/run_warnings.hpp"
#include "sim/simulation.hpp"
#include "verbs/run/findings.hpp"
#include "verbs/run/headline.hpp"
#include "verbs/run/mean_steps.hpp"
#include "verbs/run/repeat.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

/// The bands of the run's own server, where it was measured under such a load.
std::vector<accuracy::Band> own_bands_of(const scenario::Deployment& deployment,
                                         const accuracy::Question& question,
                                         const metrics::Summary& summary) {
  const document::Node& node = deployment.section.calibrated;
  const auto& e2e_ms = summary.client.of(metrics::Metric::kE2e);
  if (node.is_null() || summary.completed == 0 || !e2e_ms || !summary.duration_s) {
    return {};
  }
  core::Errors errors;  // None: it was read before.
  const accuracy::OwnBands own = accuracy::read_own_bands(node, "calibrated", errors);
  const double completed = core::real(summary.completed);
  const double in_flight =
      completed * e2e_ms->of(metrics::Statistic::kMean) / (1e3 * *summary.duration_s);
  const double input = core::real(summary.total_input_tokens) / completed;
  return own.hold(question, in_flight, input) ? own.bands : std::vector<accuracy::Band>();
}

/// Bands are of one instance: a fleet has none. Where the queue grows throughout, latencies say how
/// long the run was: they have none either. Where it does not and requests come at their own times,
/// the rate of output is theirs, and no prediction.
std::vector<accuracy::ExpectedError> expected_errors_of(const scenario::Resolved& resolved,
                                                        const metrics::Summary& summary) {
  if (!resolved.pools.empty() || resolved.deployment->section.latency.name != "kernel") {
    return {};
  }
  using accuracy::Metric;
  const bool is_closed = scenario::is_closed_loop(resolved.workload.section);
  auto errors = scenario::expected_errors(*resolved.deployment, is_closed);
  for (const accuracy::Band& own :
       own_bands_of(*resolved.deployment,
                    scenario::accuracy_question(*resolved.deployment, is_closed),
                    summary)) {
    std::erase_if(errors, [&](const auto& error) { return error.band.metric == own.metric; });
    errors.push_back({.band = own, .unknown = {}});
  }
  std::erase_if(errors, [&](const accuracy::ExpectedError& error) {
    const Metric metric = error.band.metric;
    const bool is_latency = metric == Metric::kTtft || metric == Metric::kE2e;
    return summary.overload ? is_latency : metric == Metric::kOutputThroughput && !is_closed;
  });
  std::ranges::sort(errors, {}, [](const auto& error) { return error.band.metric; });
  return errors;
}

}  // namespace

RunResult run_result(const scenario::Resolved& resolved,
                     sim::RunOutcome outcome,
                     const RunStory& story) {
  RunResult result;
  result.headline = headline(resolved, outcome);
  result.command = repeat_command(resolved);
  result.stated = stated_settings(resolved);
  const scenario::Scenario scenario = resolved.scenario();
  result.config = scenario::to_node(scenario);
  result.summary = outcome.summary;
  result.series = std::move(outcome.series);
  if (result.series) {
    result.findings = findings_tree(resolved, *result.series);
    if (resolved.pools.empty()) {
      result.mean_steps = mean_steps_tree(resolved, *result.series, outcome.summary);
      result.gpu_memory = gpu_memory_tree(*resolved.deployment);
    }
  }
  result.deployment = deployment_of(resolved, outcome);
  result.bound = scenario::bound_text(scenario::why_bound(resolved));
  if (result.bound.empty()) {
    result.expected_errors = expected_errors_of(resolved, result.summary);
  }
  result.warnings = resolved.warnings;
  result.warnings.insert(result.warnings.end(), outcome.warnings.begin(), outcome.warnings.end());
  result.digest = outcome.digest;
  result.partial = outcome.partial;
  RunInfo& info = result.run_info;
  info.version = core::version();
  info.wall_time_s = story.wall_time_s;
  info.host = story.host;
  info.engine_core = story.engine_core;
  if (outcome.totals.steps > 0) {
    info.jumped_share = static_cast<double>(outcome.totals.jumped_steps) /
                        static_cast<double>(outcome.totals.steps);
  }
  if (story.wall_time_s > 0.0) {
    info.requests_per_second = static_cast<double>(outcome.summary.requests()) / story.wall_time_s;
    if (outcome.summary.duration_s) {
      info.simulated_per_wall = *outcome.summary.duration_s / story.wall_time_s;
    }
  }
  return result;
}

std::optional<core::Error> unanswered(const scenario::Resolved& resolved,
                                      const metrics::Summary& summary) {
  if (summary.completed > 0 || summary.requests() == 0) {
    return std::nullopt;
  }
  const std::int64_t at_gateway = sim::rejected_at_gateway(summary);
  const std::int64_t by_engines = summary.count(domain::Outcome::kRejected) - at_gateway;
  const sim::RejectionText text = sim::rejection_text(resolved);
  std::vector<std::string> ends;
  if (by_engines > 0) {
    ends.push_back(fmt::format("{} were rejected: {}", by_engines, text.limits));
  }
  if (at_gateway > 0) {
    ends.push_back(fmt::format("{} were rejected at the gateway", at_gateway));
  }
  for (std::size_t i = 0; i < metrics::kOutcomeNames.size(); ++i) {
    const auto outcome = static_cast<domain::Outcome>(i);
    if (const std::int64_t count = summary.count(outcome);
        count > 0 && outcome != domain::Outcome::kRejected) {
      ends.push_back(fmt::format("{} ended as {}", count, metrics::kOutcomeNames[i]));
    }
  }
  return core::Error{
      .code = core::ErrorCode::kInfeasible,
      .field = "workload",
      .message = fmt::format(
          "none of {} requests got an answer, {}", summary.requests(), fmt::join(ends, "; ")),
      .hint = by_engines > 0 ? text.flags : "--format json: summary.cluster says why"};
}

std::string missed_targets(const metrics::Summary& summary) {
  std::string text;
  for (const auto& verdict : summary.slo) {
    if (verdict.met.value_or(summary.completed > 0)) {
      continue;
    }
    const char* metric = metrics::kMetricNames[static_cast<std::size_t>(verdict.metric)];
    const std::string limit = report::significant(verdict.limit_ms);
    if (verdict.value_ms && *verdict.value_ms <= verdict.limit_ms) {
      // The requests without an answer are too many.
      text += fmt::format("slo.{} missed: {} of all requests are within {} ms, expected {}\n",
                          metric,
                          report::percent(verdict.share.value_or(0.0)),
                          limit,
                          report::percent(metrics::share_within(verdict.statistic)));
      continue;
    }
    text +=
        fmt::format("slo.{} missed: {} is {}, expected at most {} ms\n",
                    metric,
                    metrics::kStatisticNames[static_cast<std::size_t>(verdict.statistic)],
                    verdict.value_ms ? report::significant(*verdict.value_ms) + " ms" : "not there",
                    limit);
  }
  return text;
}

}  // namespace ridgeline::verbs
