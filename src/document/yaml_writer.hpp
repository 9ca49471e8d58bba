#pragma once

#include <string>
#include <string_view>

#include "document/document.hpp"

namespace ridgeline::document {

/// A map or list as YAML for people, in block style, two spaces a level: what parse_yaml() reads
/// back as the same kinds and values, whole reals as integers. Ends with a line break; an empty map
/// is "{}".
[[nodiscard]] std::string yaml_text(const Node& node);

/// A text as a key or a value of YAML: as it is, or in double quotes.
[[nodiscard]] std::string yaml_word(std::string_view text);

}  // namespace ridgeline::document
