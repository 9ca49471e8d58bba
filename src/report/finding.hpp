#pragma once

#include <string>

#include "document/document.hpp"

namespace ridgeline::report {

/// The top of a page, from a result's `findings`: why a target was missed, when it was worst, and
/// what held the run up. Empty without them.
[[nodiscard]] std::string finding_html(const document::Node& result);

}  // namespace ridgeline::report
