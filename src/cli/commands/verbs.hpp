#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/exit_code.hpp"

namespace ridgeline::cli {

/// The words after the verb.
using Words = std::span<const std::string>;

/// One verb of the command line.
struct Verb {
  std::string_view name;
  std::string_view summary;
  ExitCode (*run)(Words words);  ///< Null: not in this version.
};

/// Every verb, in the order of help.
[[nodiscard]] std::span<const Verb> verbs();

// One file each.
ExitCode run_command(Words words);
ExitCode replay_command(Words words);
ExitCode step_command(Words words);
ExitCode explain_command(Words words);
ExitCode list_command(Words words);
ExitCode schema_command(Words words);
ExitCode help_command(Words words);
ExitCode calibrate_command(Words words);
ExitCode validate_command(Words words);
ExitCode report_command(Words words);
ExitCode steps_command(Words words);
ExitCode trace_command(Words words);
ExitCode convert_command(Words words);
ExitCode kernels_command(Words words);
ExitCode version_command(Words words);
ExitCode completions_command(Words words);
ExitCode man_command(Words words);
ExitCode sweep_command(Words words);
ExitCode deploy_command(Words words);
ExitCode observe_command(Words words);
ExitCode plan_command(Words words);
ExitCode serve_command(Words words);
ExitCode ui_command(Words words);

}  // namespace ridgeline::cli
