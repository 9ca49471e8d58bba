#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "plan/answer.hpp"

namespace ridgeline::plan {

/// What differs between two runs of one plan.
struct PlanRunInfo {
  double wall_time_s = 0.0;
  double core_seconds = 0.0;
  std::int64_t jobs = 1;
};

/// The answer for programs (data/schemas/plan.schema.json). Only `run_info` may differ between two
/// runs of one question.
[[nodiscard]] document::Node answer_tree(const Answer& answer,
                                         const PlanRunInfo& info,
                                         const std::vector<std::string>& files = {});

/// What the tree of a mix has, too: `run_info`,
[[nodiscard]] document::Node plan_run_info_node(const PlanRunInfo& info);
/// and `config`: what was searched, from which scenario, on which engine.
[[nodiscard]] document::Node plan_config_node(const document::Node& scenario,
                                              const document::Node& space,
                                              std::string_view engine);

}  // namespace ridgeline::plan
