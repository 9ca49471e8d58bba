#pragma once

#include "core/document.hpp"
#include "core/json_writer.hpp"

namespace ridgeline::core {

/// Writes a value with all that it holds, where the writer stands: what parse_json() reads back as
/// the same kinds and values, whole reals as integers.
void write(const Node& node, JsonWriter& json);

}  // namespace ridgeline::core
