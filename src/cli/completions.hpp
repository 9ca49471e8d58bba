#pragma once

#include <string>

namespace ridgeline::cli {

/// Scripts that complete verbs, flags, their values and files, from the tables of verbs and flags.
[[nodiscard]] std::string bash_completions();
[[nodiscard]] std::string zsh_completions();
[[nodiscard]] std::string fish_completions();

}  // namespace ridgeline::cli
