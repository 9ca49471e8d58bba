#include "cli/commands/kernels.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"

namespace ridgeline::cli {

ExitCode kernels_plan(Words words) {
  std::vector<std::string> all(words.begin(), words.end());
  all.insert(all.end(), {"--what-to-measure", "--kernels-only"});
  return plan_command(all);
}

std::span<const KernelsCommand> kernels_commands() {
  static constexpr auto kCommands = std::to_array<KernelsCommand>({
      {"check", "what tables are really made of, and which rows cannot be true", kernels_check},
      {"fit", "fit the kernel model's constants to measured operators", kernels_fit},
      {"lookup",
       "one look-up of the published models: row, distance, MFU, latency",
       kernels_lookup},
      {"make", "write tables from the kernel model, for any GPU", kernels_make},
      {"plan",
       "which kernel's time would change a plan most (plan --what-to-measure)",
       kernels_plan},
  });
  return kCommands;
}

ExitCode kernels_command(Words words) {
  const auto commands = kernels_commands();
  if (!words.empty()) {
    const auto found = std::ranges::find(commands, words.front(), &KernelsCommand::name);
    if (found != commands.end()) {
      return found->run(words.subspan(1));
    }
  }
  std::string about =
      "Works with tables of measured kernels. `ridgeline kernels COMMAND --help`:\n";
  std::vector<std::string> names;
  for (const KernelsCommand& command : commands) {
    about += fmt::format("\n  {:<7} {}", command.name, command.summary);
    names.emplace_back(command.name);
  }
  const Opening opening{.usage = fmt::format("kernels {} ...", fmt::join(names, "|")),
                        .about = about,
                        .flags = manner_flags("table|json"),
                        .formats = {"table", "json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const std::string typed = arguments.positionals.empty() ? "" : arguments.positionals.front();
  const auto near = document::nearest(typed, names);
  return give_up(
      {{.field = "kernels",
        .message = fmt::format("found \"{}\", expected one of: {}", typed, fmt::join(names, ", ")),
        .where = {.file = "command line"},
        .hint = near ? fmt::format("did you mean '{}'?", *near) : "ridgeline kernels --help"}},
      manners);
}

}  // namespace ridgeline::cli
