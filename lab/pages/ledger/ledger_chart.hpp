#pragma once

#include <string>

#include "lab/studies/ledger/settle.hpp"

namespace ridgeline::report {

/// The columns of a printed table that its ledger has drawn, as an SVG element: published values as
/// rings, ours as a line. Empty for a table that is not drawn.
[[nodiscard]] std::string ledger_chart(const studies::SettledClaim& claim);

}  // namespace ridgeline::report
