#pragma once

#include <string>

#include "plan/mix_plan.hpp"
#include "report/palette.hpp"
#include "report/plan_report.hpp"

namespace ridgeline::report {

/// A mix on one screen: its pools, what each serves and how sure that is, and what one deployment
/// for all classes would cost.
[[nodiscard]] std::string mix_table(const plan::MixAnswer& answer, const TextStyle& style);

/// The same as JSON, with the capacities behind it; only `run_info` may differ between two runs.
[[nodiscard]] std::string mix_json(const plan::MixAnswer& answer, const PlanRunInfo& info);

}  // namespace ridgeline::report
