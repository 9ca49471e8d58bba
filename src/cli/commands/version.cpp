#include "core/version.hpp"

#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "report/notices.hpp"

namespace ridgeline::cli {

ExitCode version_command(Words words) {
  Arguments arguments;
  Manners manners;
  Opening opening{.usage = "version [--licenses]",
                  .about = "Prints the version.",
                  .flags = {{.name = "licenses",
                             .takes = FlagSpec::Takes::kNothing,
                             .help = "The licences of the libraries in it, in full"}},
                  .formats = {"table"}};
  for (auto& flag : manner_flags("table")) {
    opening.flags.push_back(std::move(flag));
  }
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  if (const auto none = no_positionals(arguments); !none) {
    return give_up(none.error(), manners);
  }
  if (arguments.has("licenses")) {
    return put_out(report::notice_files().front().text, manners);
  }
  return put_out(fmt::format("ridgeline {}\n", core::version()), manners);
}

}  // namespace ridgeline::cli
