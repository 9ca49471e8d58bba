#pragma once

#include <string>

#include "document/document.hpp"

namespace ridgeline::document {

/// A map or list as YAML for people, in block style, two spaces a level: what parse_yaml() reads
/// back as the same kinds and values, whole reals as integers. Ends with a line break; an empty map
/// is "{}".
[[nodiscard]] std::string yaml_text(const Node& node);

}  // namespace ridgeline::document
