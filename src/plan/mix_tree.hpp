#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "plan/answer_tree.hpp"
#include "plan/mix_plan.hpp"

namespace ridgeline::plan {

/// The mix for programs, with the capacities behind it; only `run_info` may differ between two
/// runs.
[[nodiscard]] document::Node mix_tree(const MixAnswer& answer,
                                      const PlanRunInfo& info,
                                      const std::vector<std::string>& files = {});

}  // namespace ridgeline::plan
