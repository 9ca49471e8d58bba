#pragma once

#include <string>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::plan {

/// Notes what stands twice in a map.
void refuse_duplicates(const document::Node& map, const std::string& path, core::Errors& errors);

/// Notes lists of values where a scenario has one: values to search stand in `space`. `path` is the
/// node's own; empty for a whole scenario.
void refuse_lists(const document::Node& node, const std::string& path, core::Errors& errors);

}  // namespace ridgeline::plan
