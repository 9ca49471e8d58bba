#pragma once

#include <string_view>

#include "document/document.hpp"

namespace ridgeline::cli {

/// The tools of the Model Context Protocol: [{name, title, description, inputSchema, annotations},
/// ...]. Each is a verb, but for `help`, which describes verbs and settings.
[[nodiscard]] const document::Node& mcp_tools();
[[nodiscard]] bool is_mcp_tool(std::string_view name);

/// What `help` answers to {about: text}: the verb of that name with its keys, or the settings whose
/// path or help has every word of the text. Without a text, the verbs.
[[nodiscard]] document::Node mcp_help(const document::Node& arguments);

}  // namespace ridgeline::cli
