#pragma once

#include <string>
#include <vector>

#include "accuracy/bands.hpp"
#include "document/document.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::verbs {

/// "TPOT -33...+52 % (90 %), -12...+20 % (half), as 60 unseen deployments (vllm)" and so on, and
/// "never measured; the nearest that was has another gpu"; nothing without a band.
[[nodiscard]] std::vector<report::Piece> expected_error_pieces(
    const std::vector<accuracy::ExpectedError>& errors, const report::TextStyle& style);

}  // namespace ridgeline::verbs
