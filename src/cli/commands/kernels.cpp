#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "document/reader.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

ExitCode kernels_command(Words words) {
  static constexpr std::string_view kBefore = "kernels ";
  std::string about =
      "Works with tables of measured kernels. `ridgeline kernels COMMAND --help`:\n";
  std::vector<std::string> names;
  for (const verbs::Verb& verb : verbs::verbs()) {
    if (!verb.name.starts_with(kBefore)) {
      continue;
    }
    names.push_back(verb.name.substr(kBefore.size()));
    about += fmt::format("\n  {:<7} {}", names.back(), verb.summary);
    if (!words.empty() && words.front() == names.back()) {
      return run_verb(verb, words.subspan(1));
    }
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
      {usage_error("kernels",
                   fmt::format("found \"{}\", expected one of: {}", typed, fmt::join(names, ", ")),
                   near ? fmt::format("did you mean '{}'?", *near) : "ridgeline kernels --help")},
      manners);
}

}  // namespace ridgeline::cli
