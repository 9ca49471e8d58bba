#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "plan/mix_plan.hpp"
#include "report/palette.hpp"
#include "report/plan_report.hpp"

namespace ridgeline::report {

/// A mix on one screen: its pools, what each serves and how sure that is, and what one deployment
/// for all classes would cost, and the files that were written.
[[nodiscard]] std::string mix_table(const plan::MixAnswer& answer,
                                    const TextStyle& style,
                                    const std::vector<std::string>& files = {});

/// The mix for programs, with the capacities behind it; only `run_info` may differ between two
/// runs.
[[nodiscard]] document::Node mix_tree(const plan::MixAnswer& answer,
                                      const PlanRunInfo& info,
                                      const std::vector<std::string>& files = {});

/// What a pool of a mix serves, as "100 % of chat, 20 % of documents".
[[nodiscard]] std::string served_text(const plan::MixAnswer& answer, const plan::MixPool& pool);

}  // namespace ridgeline::report
