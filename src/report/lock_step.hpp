#pragma once

#include <string>

#include "document/document.hpp"
#include "metrics/lock_step_summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

[[nodiscard]] document::Node lock_step_tree(const metrics::LockStepSummary& lock_step);
/// All groups in one line.
[[nodiscard]] std::string lock_step_line(const metrics::LockStepSummary& lock_step,
                                         const TextStyle& style);

}  // namespace ridgeline::report
