#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/roofline/charged_attention.hpp"
#include "latency/step_time_model.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// One step, priced by one model.
struct StepReport {
  std::string model;                  ///< The step-time model's name.
  std::vector<std::string> headline;  ///< What was priced, in short pieces for a person.
  document::Node config;              ///< The resolved scenario; may be null.
  latency::Explanation explanation;
  std::optional<latency::roofline::ChargedAttention> charged;  ///< V2's decodes, as charged.
  core::Warnings warnings;
};

/// The kind that holds most of the step's GPU time; of equals, the first in the order of
/// Bottleneck.
[[nodiscard]] domain::Bottleneck bottleneck_of(const domain::StepTime& time);

/// [{operator, phase, shape, calls, flops, bytes, us, bottleneck, source, distance}, ...]
[[nodiscard]] document::Node parts_tree(const std::vector<latency::OperatorTime>& parts);

/// {schema_version, model, headline[], step_us, bottleneck, cpu_us, time_by_bottleneck, parts[],
/// hidden[], rounding_us, charged_attention, config, warnings}. The parts' `us` and rounding_us sum
/// to step_us.
[[nodiscard]] document::Node step_tree(const StepReport& report);

/// Several models on one batch: {schema_version, models: [step, ...]}.
[[nodiscard]] document::Node comparison_tree(std::span<const StepReport> reports);

/// Either tree as it is shown. Ratios are to the first model.
[[nodiscard]] report::Sheet step_sheet(const document::Node& tree);

}  // namespace ridgeline::verbs
