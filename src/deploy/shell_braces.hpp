#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::deploy::shell {

/// The raw words that a raw word with "{1..3}" or "{a,b}" stands for, itself where it has no
/// braces; nothing where a shell may count them out otherwise, or they are more than `most`.
[[nodiscard]] std::optional<std::vector<std::string>> braced(std::string_view raw,
                                                             std::size_t most);

/// Whether a raw word stands for the files that match it: "*.txt".
[[nodiscard]] bool is_file_pattern(std::string_view raw);

}  // namespace ridgeline::deploy::shell
