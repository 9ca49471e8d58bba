#pragma once

#include <optional>
#include <span>
#include <string>

namespace ridgeline::deploy::shell {

/// What the words between `[` and `]` or `[[` and `]]` say; nothing where a variable without a
/// value or the machine decides.
[[nodiscard]] std::optional<bool> condition(std::span<const std::string> words);

}  // namespace ridgeline::deploy::shell
