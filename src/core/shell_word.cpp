#include "core/shell_word.hpp"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace ridgeline::core {

std::string shell_word(std::string_view word) {
  const bool is_plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_./=:,@+").find(c) != std::string_view::npos;
  });
  if (is_plain) {
    return std::string(word);
  }
  std::string text = "'";
  for (const char c : word) {
    text += c == '\'' ? R"('\'')" : std::string(1, c);
  }
  return text + "'";
}

bool is_flag_word(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '.' && (word[1] < '0' || word[1] > '9');
}

}  // namespace ridgeline::core
