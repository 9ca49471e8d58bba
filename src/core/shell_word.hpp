#pragma once

#include <string>
#include <string_view>

namespace ridgeline::core {

/// A word as a shell reads it back.
std::string shell_word(std::string_view word);

/// Flags begin with a dash, but so do negative numbers; a lone dash is a word.
[[nodiscard]] bool is_flag_word(std::string_view word);

}  // namespace ridgeline::core
