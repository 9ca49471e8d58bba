#pragma once

#include <string>
#include <string_view>

namespace ridgeline::core {

/// A name behind its indefinite article: "an event-loss", "a crash". Goes by the first letter: a,
/// e, i and o take "an"; u does not, as in "a unit".
inline std::string with_article(std::string_view name) {
  const bool is_vowel =
      !name.empty() && std::string_view("aeioAEIO").find(name.front()) != std::string_view::npos;
  return std::string(is_vowel ? "an " : "a ").append(name);
}

}  // namespace ridgeline::core
