#pragma once

#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/calibrate/alternatives.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// The tree of a calibration as it is shown: a server's fitted constants in microseconds, and the
/// errors before and after in percent.
[[nodiscard]] report::Sheet calibration_sheet(const document::Node& tree);

/// Records that are not fitted, constants at a bound, and a host's time that is too long.
[[nodiscard]] core::Warnings calibration_warnings(
    const evidence::calibrate::Calibration& calibration);
/// Why the kernels do not match the measured server (Calibration::kernels_match), and the flags
/// that would.
[[nodiscard]] core::Error calibration_mismatch(
    const evidence::calibrate::Calibration& calibration,
    const std::vector<evidence::calibrate::Alternative>& alternatives);
/// That they may not, where the error left is above evidence::calibrate::kLeftInDoubt.
[[nodiscard]] core::Warning calibration_doubt(
    const evidence::calibrate::Calibration& calibration,
    const std::vector<evidence::calibrate::Alternative>& alternatives);

}  // namespace ridgeline::verbs
