#pragma once

#include <optional>
#include <string_view>

namespace ridgeline::model {

/// Whether a module's name is one that a quantisation's list of exceptions means. A pattern is a
/// name (which means that module and all inside it, wherever its components stand in the full
/// name), a name with wildcards `*`, or `re:` and a regular expression of the plain kind: literals,
/// `.`,
/// `[...]`, groups with `|`, `*`, `+`, `?`, `^`, `$`, and backslashes; it must match from the
/// name's beginning, as Python's re.match does. Nothing when the expression is none of these, or
/// takes too long to try.
[[nodiscard]] std::optional<bool> matches_module(std::string_view pattern, std::string_view module);

}  // namespace ridgeline::model
