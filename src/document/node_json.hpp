#pragma once

#include "document/document.hpp"
#include "document/json_writer.hpp"

namespace ridgeline::document {

/// Writes a value with all that it holds, where the writer stands: what parse_json() reads back as
/// the same kinds and values, whole reals as integers.
void write(const Node& node, JsonWriter& json);

}  // namespace ridgeline::document
