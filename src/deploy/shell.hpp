#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "deploy/layout.hpp"

namespace ridgeline::deploy {

/// A command on lines of its own: each of `words` behind the first line, and what ends it.
[[nodiscard]] std::string command_text(std::string_view first,
                                       const std::vector<std::string>& words,
                                       std::string_view end);
/// A flag as two words of a shell.
[[nodiscard]] std::string flag_words(const Flag& flag);
/// "NAME=value " for each, in front of a command.
[[nodiscard]] std::string variable_words(const std::vector<Variable>& variables);
/// "0,1,2,3": the GPUs of one replica, `first` the first.
[[nodiscard]] std::string device_list(std::int64_t first, std::int64_t count);

/// What a script begins with, header included.
[[nodiscard]] std::string script_head(const Layout& layout);

}  // namespace ridgeline::deploy
