#include "verbs/plan_measurements.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/characters.hpp"
#include "core/text.hpp"
#include "plan/answer.hpp"
#include "plan/cost.hpp"
#include "plan/doubt.hpp"
#include "report/format.hpp"

namespace ridgeline::verbs {
namespace {

constexpr double kWholePercent = 100.0;

/// What measuring saves, in the words of the objective.
std::string saves(double value, plan::Objective objective) {
  if (objective == plan::Objective::kUsdPerHour || objective == plan::Objective::kUsdPerMtok) {
    return fmt::format("saves ${:.0f} a month", value * plan::kHoursPerMonth);
  }
  return fmt::format("saves {} {}",
                     report::significant(value),
                     objective == plan::Objective::kGpus ? "GPUs" : "W");
}

/// The measurements that are worth making, at most `most`.
std::vector<const plan::MeasurementValue*> worth_making(const plan::Answer& answer,
                                                        std::size_t most,
                                                        bool kernels_only) {
  std::vector<const plan::MeasurementValue*> worth;
  for (const plan::MeasurementValue& value : answer.measurements) {
    if (value.changes_answer >= plan::kWorthMeasuring && (!kernels_only || value.is_kernel) &&
        worth.size() < most) {
      worth.push_back(&value);
    }
  }
  return worth;
}

/// What a measurement does to the answer, and how long it takes.
std::string effect(const plan::MeasurementValue& one, plan::Objective objective) {
  return fmt::format(
      "changes the answer with {:.0f} %, removes {:.0f} % of the doubt about the "
      "pick, {}; {:.0f} min{}",
      one.changes_answer * kWholePercent,
      one.resolves * kWholePercent,
      one.value > 0.0 ? saves(one.value, objective) : "saves nothing on average",
      one.minutes,
      one.gpu.empty() ? "" : fmt::format(" on {}", one.gpu));
}

}  // namespace

std::string plan_measurements(const plan::Answer& answer, std::size_t most, bool kernels_only) {
  if (!answer.pick) {
    return "No deployment is sure enough to be picked, so that no measurement can be valued "
           "against it.\n";
  }
  if (answer.candidates[*answer.pick].is_bound()) {
    return fmt::format(
        "The answer is {}: measure a server of it; no measurement can be valued against a bound.\n",
        answer.candidates[*answer.pick].bound);
  }
  const auto worth = worth_making(answer, most, kernels_only);
  if (worth.empty()) {
    return fmt::format("Nothing worth measuring: no {} changes the answer with {:.0f} % or more.\n",
                       kernels_only ? "kernel's time" : "measurement",
                       plan::kWorthMeasuring * kWholePercent);
  }
  std::string text;
  for (std::size_t i = 0; i < worth.size(); ++i) {
    text += fmt::format("{:>2}  {}\n    {}\n    {}\n",
                        i + 1,
                        core::escaped(worth[i]->what),
                        core::escaped(effect(*worth[i], answer.question.objectives.front())),
                        core::escaped(worth[i]->command));
  }
  return text +
         "\nValued with independent errors and capacities that are linear in them. Flags and "
         "lengths that were\nassumed are in none of these: state them first.\n";
}

std::string measurement_script(const plan::Answer& answer, std::size_t most, bool kernels_only) {
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "# What to measure to be surer of a plan, the most telling first. Plan digest: {}.\n"
      "# Lines with `vllm bench serve` need that deployment running on port 8000.\n"
      "set -euo pipefail\n",
      answer.digest);
  const auto worth = worth_making(answer, most, kernels_only);
  for (const plan::MeasurementValue* one : worth) {
    text += "\n" +
            core::comment_line(fmt::format(
                "{}: {}.", one->what, effect(*one, answer.question.objectives.front()))) +
            one->command + "\n";
  }
  return text + (worth.empty() ? "\n# Nothing is worth measuring.\n" : "");
}

}  // namespace ridgeline::verbs
