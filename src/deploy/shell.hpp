#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/layout.hpp"
#include "deploy/targets.hpp"

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

/// The commands of a script, each as its words: quotes taken off, lines ending in "\" joined,
/// comments left out, nothing expanded. A quote that does not end is noted.
[[nodiscard]] std::vector<std::vector<Word>> shell_commands(std::string_view text,
                                                            const std::string& file,
                                                            core::Errors& errors);

/// The servers that a script starts: `vllm serve`, `docker run IMAGE serve`,
/// `python3 -m sglang.launch_server`; those that are alike are one, with so many replicas.
[[nodiscard]] std::vector<ServerFound> servers_of_script(std::string_view text,
                                                         const std::string& file,
                                                         core::Errors& errors);

}  // namespace ridgeline::deploy
