#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "metrics/power_summary.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {

[[nodiscard]] document::Node power_tree(const metrics::PowerSummary& power);
/// "512 W per GPU", and what it is over.
[[nodiscard]] std::vector<Piece> power_pieces(const metrics::PowerSummary& power,
                                              const TextStyle& style);

}  // namespace ridgeline::report
