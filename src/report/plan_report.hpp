#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "plan/answer.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// What differs between two runs of one plan.
struct PlanRunInfo {
  double wall_time_s = 0.0;
  double core_seconds = 0.0;
  std::int64_t jobs = 1;
};

/// An answer on one screen: the best deployments, why, how sure, what would change it, what was
/// searched, and the files that were written.
[[nodiscard]] std::string plan_table(const plan::Answer& answer,
                                     const TextStyle& style,
                                     const std::vector<std::string>& files = {});

/// The answer for programs (data/schemas/plan.schema.json). Only `run_info` may differ between two
/// runs of one question.
[[nodiscard]] document::Node plan_tree(const plan::Answer& answer,
                                       const PlanRunInfo& info,
                                       const std::vector<std::string>& files = {});

/// Why a candidate is where it is: its numbers, and what dropped it. `id` may be cut to what no
/// other id begins with, or be a place in the ranking ("1"). Nothing for an unknown one.
[[nodiscard]] std::optional<std::string> plan_explanation(const plan::Answer& answer,
                                                          const std::string& id,
                                                          const TextStyle& style);

}  // namespace ridgeline::report
