#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "latency/accuracy/bands.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {

/// By metric: the band's slice, deployments and records, p50 and p90 (signed, in percent of the
/// measurement), whether its deployments taught the model, and in what the run is unlike these.
[[nodiscard]] document::Node expected_errors_tree(
    const std::vector<accuracy::ExpectedError>& errors);

/// "TPOT -33...+52 % (90 %), -12...+20 % (half), as 60 unseen deployments (vllm)" and so on, and
/// "never measured; the nearest that was has another gpu"; nothing without a band.
[[nodiscard]] std::vector<Piece> expected_error_pieces(
    const std::vector<accuracy::ExpectedError>& errors, const TextStyle& style);

}  // namespace ridgeline::report
