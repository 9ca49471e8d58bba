#include "deploy/shell.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/shell_word.hpp"
#include "deploy/layout.hpp"

namespace ridgeline::deploy {
std::string command_text(std::string_view first,
                         const std::vector<std::string>& words,
                         std::string_view end) {
  std::string text(first);
  for (const std::string& word : words) {
    text += fmt::format(" \\\n  {}", word);
  }
  return fmt::format("{}{}\n", text, end);
}

std::string flag_words(const Flag& flag) {
  return flag.value.empty() ? flag.name
                            : fmt::format("{} {}", flag.name, core::shell_word(flag.value));
}

std::string variable_words(const std::vector<Variable>& variables) {
  std::string text;
  for (const Variable& variable : variables) {
    text += fmt::format("{}={} ", variable.name, core::shell_word(variable.value));
  }
  return text;
}

std::string device_list(std::int64_t first, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", first + i);
  }
  return text;
}

std::string script_head(const Layout& layout) {
  return fmt::format("#!/usr/bin/env bash\n{}set -euo pipefail\n", layout.header);
}

}  // namespace ridgeline::deploy
