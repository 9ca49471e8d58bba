#pragma once

#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::report {

/// A value as text: a string as it is, all else as JSON.
[[nodiscard]] std::string leaf_text(const document::Node& value);

/// The leaves of a document by their paths (keys joined by dots), in its order, as text. Lists and
/// empty maps are leaves.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> leaves_of(
    const document::Node& node);

}  // namespace ridgeline::report
