#pragma once

#include <string>

#include "document/document.hpp"
#include "document/json_writer.hpp"

namespace ridgeline::document {

/// Writes a value with all that it holds, where the writer stands: what parse_json() reads back as
/// the same kinds and values, whole reals as integers.
void write(const Node& node, JsonWriter& json);

/// A tree as JSON, indented or on one line, with a line break at its end. Its numbers must be
/// finite, as number_node() sees to.
[[nodiscard]] std::string json_text(const Node& node);
[[nodiscard]] std::string json_line(const Node& node);

}  // namespace ridgeline::document
