#pragma once

#include <vector>

#include "document/document.hpp"
#include "evidence/calibrate/alternatives.hpp"
#include "evidence/calibrate/calibrate.hpp"

namespace ridgeline::evidence::calibrate {

/// A fit for programs, with records that were not used, and other flags that would fit better.
[[nodiscard]] document::Node calibration_tree(const Calibration& calibration,
                                              const std::vector<Alternative>& alternatives);

}  // namespace ridgeline::evidence::calibrate
