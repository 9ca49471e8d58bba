#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::verbs {

/// The documents that have a JSON Schema: "scenario", "result", ...
[[nodiscard]] std::vector<std::string> schema_names();
/// The JSON Schema of that name (draft 2020-12); nothing where there is none.
[[nodiscard]] std::optional<std::string> schema_text(std::string_view name);

}  // namespace ridgeline::verbs
