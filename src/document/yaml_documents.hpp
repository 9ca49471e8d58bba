#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {

/// The documents of a YAML file that others wrote: with anchors, aliases and merge keys; what is no
/// value of ours (1_000, 007, .inf) is text.
core::Result<std::vector<Node>> parse_yaml_documents(std::string_view text,
                                                     const std::string& file);

}  // namespace ridgeline::document
