#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/deployment.hpp"
#include "scenario/scenario.hpp"
#include "verbs/batch_text.hpp"
#include "verbs/step_view.hpp"

namespace ridgeline::verbs {

/// A step priced by one model, with the deployment it was priced on.
struct PricedStep {
  std::shared_ptr<const scenario::Deployment> deployment;
  StepReport report;
};

/// The scenario with another step-time model, and of the latency section what that model reads.
[[nodiscard]] scenario::LoadedScenario with_model(const scenario::LoadedScenario& loaded,
                                                  const std::string& model);

/// One step, priced by the scenario's own step-time model, or by each of `models`, which then takes
/// of the latency section what it reads. Fails with all errors of all models; a step that simulated
/// time has no room for is infeasible.
[[nodiscard]] core::Result<std::vector<PricedStep>> price_step(
    const scenario::LoadedScenario& loaded,
    const BatchText& batch,
    const std::vector<std::string>& models);

[[nodiscard]] std::vector<StepReport> reports_of(std::span<const PricedStep> steps);
/// As `step --format json` has it: one step, or where models were `compared` all of them.
[[nodiscard]] document::Node steps_tree(std::span<const PricedStep> steps, bool compared);

}  // namespace ridgeline::verbs
