#pragma once

#include "document/document.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// Where the time of a step log went, from the tree of its summary.
[[nodiscard]] report::Sheet steps_sheet(const document::Node& tree);

}  // namespace ridgeline::verbs
