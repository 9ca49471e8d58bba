#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/prediction.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "lab/scoring/left_out_row.hpp"

/// How well the model does on networks and GPUs that its constants have not seen.
namespace ridgeline::scoring {

/// What is left out at a time.
enum class LeaveOut : std::uint8_t { kNetwork, kGpu, kFormat, kFirstUse };
/// As --leave-out says them.
inline constexpr std::array<const char*, 4> kLeaveOutNames = {
    "network", "gpu", "format", "first-use"};

/// Refits the constants that are not per operator (gaps, sampling, host, request path) once for
/// each value of that axis, to the records of the others, and predicts the value's own records with
/// them. Fits are weighted least squares on the relative errors of the means, in which records that
/// are far off count little (and not at all from 30 % on), around the constants as they are; each
/// stays within a factor of two. Records beyond saturation are left out, and constants that
/// `options` set stay. Of kFirstUse it is leave_out_first_uses (first_use_fit.hpp). Fails when
/// nothing can be predicted.
[[nodiscard]] core::Result<std::vector<LeftOutRow>> leave_out(const std::vector<Evidence>& evidence,
                                                              LeaveOut axis,
                                                              const PredictOptions& options);

/// Names of the constants that are refitted, as flags of the command line know them.
[[nodiscard]] std::vector<std::string> refitted_constants();

}  // namespace ridgeline::scoring
