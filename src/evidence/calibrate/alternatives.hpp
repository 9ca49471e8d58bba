#pragma once

#include <string>
#include <vector>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::calibrate {

/// Another server that the measurements may be of.
struct Alternative {
  std::string flag;   ///< What states it: "--gpu gh200", "--no-async-scheduling".
  double left = 0.0;  ///< As Calibration::left, of a fit with it.
};

/// Where a fit of one server leaves more than kLeftInDoubt: every other GPU of the catalogue and a
/// few flags, each with a fit of its own. Those that leave less than half as much and no more than
/// kLeftInDoubt, the best first, and at most three. Costs some thirty fits.
[[nodiscard]] std::vector<Alternative> find_alternatives(
    const std::vector<validate::Evidence>& evidence,
    const CalibrateOptions& options,
    const Calibration& calibration);

}  // namespace ridgeline::evidence::calibrate
