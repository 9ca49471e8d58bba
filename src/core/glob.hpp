#pragma once

#include <cstddef>
#include <string_view>

namespace ridgeline::core {

/// Whether the whole text is of a pattern: `*` any characters, `?` one, all others themselves.
[[nodiscard]] constexpr bool matches_glob(std::string_view text, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resume = at;
    } else if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == text[at])) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  while (in < pattern.size() && pattern[in] == '*') {
    ++in;
  }
  return in == pattern.size();
}

}  // namespace ridgeline::core
