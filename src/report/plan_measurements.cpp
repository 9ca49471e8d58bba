#include "report/plan_measurements.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plan/answer.hpp"
#include "plan/cost.hpp"
#include "plan/doubt.hpp"
#include "report/format.hpp"

namespace ridgeline::report {
namespace {

constexpr double kHoursPerMonth = 730.0;
constexpr double kWholePercent = 100.0;

/// What measuring saves, in the words of the objective.
std::string saves(double value, plan::Objective objective) {
  if (objective == plan::Objective::kUsdPerHour || objective == plan::Objective::kUsdPerMtok) {
    return fmt::format("saves ${:.0f} a month", value * kHoursPerMonth);
  }
  return fmt::format(
      "saves {} {}", significant(value), objective == plan::Objective::kGpus ? "GPUs" : "W");
}

}  // namespace

std::string plan_measurements(const plan::Answer& answer, std::size_t most, bool kernels_only) {
  if (!answer.pick) {
    return "No deployment is sure enough to be picked, so that no measurement can be valued "
           "against "
           "it.\n";
  }
  std::vector<const plan::MeasurementValue*> worth;
  for (const plan::MeasurementValue& value : answer.measurements) {
    if (value.changes_answer >= plan::kWorthMeasuring && (!kernels_only || value.is_kernel) &&
        worth.size() < most) {
      worth.push_back(&value);
    }
  }
  if (worth.empty()) {
    return fmt::format("Nothing worth measuring: no {} changes the answer with {:.0f} % or more.\n",
                       kernels_only ? "kernel's time" : "measurement",
                       plan::kWorthMeasuring * kWholePercent);
  }
  const plan::Objective objective = answer.question.objectives.front();
  std::string text;
  for (std::size_t i = 0; i < worth.size(); ++i) {
    const plan::MeasurementValue& one = *worth[i];
    text += fmt::format("{:>2}  {}\n", i + 1, one.what);
    text += fmt::format(
        "    changes the answer with {:.0f} %, removes {:.0f} % of the doubt about the pick, {}; "
        "{:.0f} "
        "min{}\n",
        one.changes_answer * kWholePercent,
        one.resolves * kWholePercent,
        one.value > 0.0 ? saves(one.value, objective) : std::string("saves nothing on average"),
        one.minutes,
        one.gpu.empty() ? "" : fmt::format(" on {}", one.gpu));
    text += fmt::format("    {}\n", one.command);
  }
  return text +
         "\nValued with independent errors and capacities that are linear in them. Flags and "
         "lengths "
         "that were\nassumed are in none of these: state them first.\n";
}

}  // namespace ridgeline::report
