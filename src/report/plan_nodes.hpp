#pragma once

#include <string_view>

#include "document/document.hpp"
#include "report/plan_report.hpp"

/// What the JSON of every answer of a plan has in common.
namespace ridgeline::report {

/// `run_info`.
[[nodiscard]] document::Node plan_run_info_node(const PlanRunInfo& info);
/// `config`: what was searched, from which scenario, on which engine.
[[nodiscard]] document::Node plan_config_node(const document::Node& scenario,
                                              const document::Node& space,
                                              std::string_view engine);

}  // namespace ridgeline::report
