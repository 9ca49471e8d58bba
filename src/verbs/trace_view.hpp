#pragma once

#include <string>

#include "document/document.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// A described trace as it is shown, from its tree.
[[nodiscard]] report::Sheet trace_sheet(const document::Node& trace);
/// The trace as a picture: rate over time, lengths, and what a prefix cache finds.
[[nodiscard]] std::string trace_svg(const document::Node& trace, const std::string& name);

}  // namespace ridgeline::verbs
