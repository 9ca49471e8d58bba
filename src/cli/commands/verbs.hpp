#pragma once

#include <span>
#include <string>

#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

/// The words after the verb.
using Words = std::span<const std::string>;

/// A verb from its words to its exit code.
[[nodiscard]] ExitCode run_verb(const verbs::Verb& verb, Words words);
/// What it opens with.
[[nodiscard]] Opening describe(const verbs::Verb& verb);

// What verbs have of their own here, one file each.
ExitCode help_command(Words words);
ExitCode version_command(Words words);
ExitCode completions_command(Words words);
ExitCode man_command(Words words);
ExitCode kernels_command(Words words);
ExitCode sweep_command(Words words);
ExitCode observe_command(Words words);
ExitCode ui_command(Words words);
ExitCode mcp_command(Words words);
ExitCode serve_command(Words words);

}  // namespace ridgeline::cli
