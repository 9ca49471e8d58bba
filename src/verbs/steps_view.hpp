#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {

/// Where the time of a step log went, from the tree of its summary.
[[nodiscard]] std::string steps_table(const document::Node& tree, const report::TextStyle& style);

}  // namespace ridgeline::verbs
