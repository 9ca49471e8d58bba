#pragma once

#include <string>
#include <vector>

#include "accuracy/bands.hpp"
#include "document/document.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {

/// By metric: the band's slice, records, median, mean and p90 (in percent, as widened), the axes on
/// which the run lies outside of it, and whether its records taught the model.
[[nodiscard]] document::Node expected_errors_tree(
    const std::vector<accuracy::ExpectedError>& errors);

/// "TPOT 2.2 % (median of 67 records: h100, dense, fp8, closed, vllm)"; nothing where the times
/// have no band.
[[nodiscard]] std::vector<Piece> expected_error_pieces(
    const std::vector<accuracy::ExpectedError>& errors, const TextStyle& style);

}  // namespace ridgeline::report
