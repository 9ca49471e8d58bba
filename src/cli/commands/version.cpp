#include "report/version.hpp"

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {

ExitCode version_command(Words words) {
  Arguments arguments;
  Manners manners;
  const Opening opening{.usage = "version",
                        .about = "Prints the version.",
                        .flags = manner_flags("table"),
                        .formats = {"table"}};
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (const auto none = no_positionals(arguments); !none) {
    return give_up(none.error(), manners);
  }
  return put_out(fmt::format("ridgeline {}\n", report::version()), manners);
}

}  // namespace ridgeline::cli
