#include "cli/completions.hpp"

#include <array>
#include <string>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/manual.hpp"
#include "verbs/request.hpp"

namespace ridgeline::cli {

ExitCode completions_command(Words words) {
  const Opening opening{.usage = "completions bash|zsh|fish",
                        .about = "Prints a script that completes verbs, flags and their values.",
                        .flags = manner_flags("table"),
                        .formats = {"table"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  static const std::array<std::string, 3> kShells = {"bash", "zsh", "fish"};
  const std::string shell =
      arguments.positionals.size() == 1 ? arguments.positionals.front() : std::string();
  if (shell == "bash") {
    return put_out(bash_completions(), manners);
  }
  if (shell == "zsh") {
    return put_out(zsh_completions(), manners);
  }
  if (shell == "fish") {
    return put_out(fish_completions(), manners);
  }
  return give_up(
      {verbs::bad_word(
          "completions", arguments.positionals, kShells, "source <(ridgeline completions bash)")},
      manners);
}

ExitCode man_command(Words words) {
  const Opening opening{.usage = "man",
                        .about =
                            "Prints the manual page: ridgeline man > ridgeline.1, then man -l "
                            "ridgeline.1",
                        .flags = manner_flags("table"),
                        .formats = {"table"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (const auto none = no_positionals(arguments); !none) {
    return give_up(none.error(), manners);
  }
  return put_out(manual_page(), manners);
}

}  // namespace ridgeline::cli
