#pragma once

#include <string>
#include <string_view>

namespace ridgeline::openai {

/// The name of a tool's function, given as JSON; empty where it has none.
[[nodiscard]] std::string name_of_tool(std::string_view function);
/// The JSON schema of its arguments: "{}" where it has none.
[[nodiscard]] std::string parameters_of_tool(std::string_view function);

}  // namespace ridgeline::openai
