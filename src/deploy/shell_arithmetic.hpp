#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::deploy::shell {

/// The value of "TP * 2 + 1", as a shell computes it; nothing where a name has no value, a number
/// is beyond its range, or the text is of another grammar. `assign` takes "i = 0" and "i++".
[[nodiscard]] std::optional<std::int64_t> arithmetic(
    std::string_view text,
    const std::function<std::optional<std::int64_t>(const std::string&)>& value_of,
    const std::function<void(const std::string&, std::int64_t)>& assign);

}  // namespace ridgeline::deploy::shell
