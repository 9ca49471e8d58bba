#pragma once

#include <functional>
#include <string_view>

namespace ridgeline::sweep {

/// Goes over one line of JSON that a JsonWriter wrote without white space, and calls `use` for each
/// value that is no map, with its path (keys joined by dots; `point.` and `result.` are left out)
/// and its text: numbers and truths as they stand, texts without quotes and escapes, null as
/// nothing, a list as its items with a blank between them. Texts are valid during the call.
void flatten(std::string_view json,
             const std::function<void(std::string_view name, std::string_view value)>& use);

}  // namespace ridgeline::sweep
