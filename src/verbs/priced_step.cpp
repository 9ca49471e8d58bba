#include "verbs/priced_step.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "latency/lookup_log.hpp"
#include "latency/roofline/charged_attention.hpp"
#include "latency/step_time_model.hpp"
#include "report/format.hpp"
#include "scenario/batch_limits.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/batch_text.hpp"
#include "verbs/run/headline.hpp"
#include "verbs/step_view.hpp"

namespace ridgeline::verbs {
namespace {

std::string batch_title(const BatchText& text) {
  const auto decodes = static_cast<std::int64_t>(text.decodes.size());
  const auto prefills = static_cast<std::int64_t>(text.prefills.size());
  const std::string left = decodes == 0 ? "" : report::counted(decodes, "decode");
  const std::string right = prefills == 0 ? "" : report::counted(prefills, "prompt chunk");
  return left + (left.empty() || right.empty() ? "" : ", ") + right;
}

/// Models are compared under one command line, of which each takes what it reads.
void drop_unused(scenario::LatencySection& section) {
  const auto* entry = latency::find_step_time_model(section.name);
  if (entry == nullptr) {
    return;
  }
  if (!entry->uses.constants) {
    section.constants.reset();
  }
  if (!entry->uses.bench_data) {
    section.bench_data.reset();
  }
  if (!entry->uses.hardware_config) {
    section.hardware_config.reset();
  }
  if (!entry->uses.lookup) {
    section.lookup.reset();
  }
  if (!entry->uses.settings) {
    section.settings.clear();
  }
}

/// What resolve() warns of is the workload of a run: a step has none, its batch is one rank's, and
/// it shows no time of the host that could be waited for.
core::Warnings warnings_of(const scenario::Resolved& resolved) {
  core::Warnings warnings = resolved.warnings;
  std::erase_if(warnings, [](const core::Warning& warning) {
    return warning.code == scenario::kAsyncWaitsWarning;
  });
  for (core::Warning& warning : warnings) {
    if (warning.code == scenario::kDataParallelWarning) {
      warning.message = fmt::format(
          "--decode and --prefill are the batch of one of {} data-parallel ranks, not of all",
          resolved.deployment->execution.sharding.data_parallel_size);
      warning.hint = "ranks that exchange tokens of experts are taken to be equally loaded";
    }
  }
  return warnings;
}

/// A step that simulated time has no room for: its sum of parts is not exact any more.
core::Error too_long(const latency::Explanation& explanation) {
  core::Seconds sum;
  for (const latency::OperatorTime& part : explanation.parts) {
    sum += part.time;
  }
  return {.code = core::ErrorCode::kInfeasible,
          .field = "step",
          .message = fmt::format("takes {:.3g} s, expected at most {} s, the range of simulated "
                                 "time",
                                 sum.value(),
                                 core::shortest(core::SimTime::last().to_seconds())),
          .where = {},
          .hint = "is a unit of the hardware wrong?"};
}

core::Result<PricedStep> price(const scenario::LoadedScenario& loaded,
                               const std::string& model,
                               const BatchText& text) {
  const auto resolved = scenario::resolve(model.empty() ? loaded : with_model(loaded, model));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  PricedStep priced{.deployment = resolved->deployment, .report = {}};
  const scenario::Deployment& deployment = *priced.deployment;
  priced.report.model = deployment.section.latency.name;
  priced.report.headline = {deployment_text(deployment), batch_title(text)};
  priced.report.config = scenario::to_node(resolved->scenario());
  const auto& speculation = deployment.execution.speculation;
  const BatchText verified =
      with_drafts(text, speculation ? speculation->num_speculative_tokens : 0);
  const domain::StepBatch batch = verified.batch();
  priced.report.explanation = deployment.latency->explain(batch);
  priced.report.charged = latency::roofline::charged_attention(*deployment.latency, batch);
  if (priced.report.explanation.total.gpu() > core::SimTime::last().since_start()) {
    return core::fail(too_long(priced.report.explanation));
  }
  priced.report.warnings = warnings_of(*resolved);
  latency::LookupLog log;
  static_cast<void>(deployment.latency->predict_logged(batch, log));
  for (const core::Warnings& more :
       {scenario::beyond_limits(deployment, batch), deployment.latency->findings(log)}) {
    priced.report.warnings.insert(priced.report.warnings.end(), more.begin(), more.end());
  }
  return priced;
}

}  // namespace

scenario::LoadedScenario with_model(const scenario::LoadedScenario& loaded,
                                    const std::string& model) {
  scenario::LoadedScenario chosen = loaded;
  chosen.scenario.deployment.latency.name = model;
  drop_unused(chosen.scenario.deployment.latency);
  return chosen;
}

core::Result<std::vector<PricedStep>> price_step(const scenario::LoadedScenario& loaded,
                                                 const BatchText& batch,
                                                 const std::vector<std::string>& models) {
  core::Errors errors;
  std::vector<PricedStep> steps;
  for (const auto& name : models.empty() ? std::vector<std::string>{""} : models) {
    auto priced = price(loaded, name, batch);
    if (!priced) {
      errors.insert(errors.end(), priced.error().begin(), priced.error().end());
      continue;
    }
    steps.push_back(std::move(*priced));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return steps;
}

std::vector<StepReport> reports_of(std::span<const PricedStep> steps) {
  std::vector<StepReport> reports;
  reports.reserve(steps.size());
  for (const auto& step : steps) {
    reports.push_back(step.report);
  }
  return reports;
}

document::Node steps_tree(std::span<const PricedStep> steps, bool compared) {
  return compared ? comparison_tree(reports_of(steps)) : step_tree(steps.front().report);
}

}  // namespace ridgeline::verbs
