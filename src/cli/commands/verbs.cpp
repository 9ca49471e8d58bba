#include "cli/commands/verbs.hpp"

#include "cli/commands/simulate.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/verb_command.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

using Command = ExitCode (*)(Words words);

/// Null where the verb's own function is all.
Command command_of(verbs::Own own) {
  switch (own) {
    case verbs::Own::kNone:
    case verbs::Own::kRun:
      return nullptr;
    case verbs::Own::kHelp:
      return help_command;
    case verbs::Own::kVersion:
      return version_command;
    case verbs::Own::kCompletions:
      return completions_command;
    case verbs::Own::kMan:
      return man_command;
    case verbs::Own::kKernels:
      return kernels_command;
    case verbs::Own::kSweep:
      return sweep_command;
    case verbs::Own::kObserve:
      return observe_command;
    case verbs::Own::kUi:
      return ui_command;
    case verbs::Own::kMcp:
      return mcp_command;
    case verbs::Own::kServe:
      return serve_command;
  }
  return nullptr;
}

}  // namespace

ExitCode run_verb(const verbs::Verb& verb, Words words) {
  if (const Command command = command_of(verb.own)) {
    return command(words);
  }
  return verb.own == verbs::Own::kRun ? simulate_command(verb, words) : verb_command(verb, words);
}

Opening describe(const verbs::Verb& verb) {
  const Command command = command_of(verb.own);
  return command == nullptr ? opening_of(verb) : describe(command);
}

}  // namespace ridgeline::cli
