#pragma once

#include <span>
#include <string_view>

#include "cli/commands/verbs.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {

/// One sub-command of `kernels`; a file each.
struct KernelsCommand {
  std::string_view name;
  std::string_view summary;
  ExitCode (*run)(Words words);  ///< The words after its name.
};
[[nodiscard]] std::span<const KernelsCommand> kernels_commands();

ExitCode kernels_check(Words words);
ExitCode kernels_fit(Words words);
ExitCode kernels_lookup(Words words);
ExitCode kernels_make(Words words);
ExitCode kernels_plan(Words words);

}  // namespace ridgeline::cli
