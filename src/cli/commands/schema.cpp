#include <optional>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "report/results/schema_text.hpp"

namespace ridgeline::cli {
ExitCode schema_command(Words words) {
  const Opening opening{.usage = fmt::format("schema {}", fmt::join(report::schema_names(), "|")),
                        .about =
                            "Prints a JSON Schema: of a scenario document, of what is written, or "
                            "of a line of our own traces.",
                        .flags = manner_flags("json"),
                        .formats = {"json"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto& given = arguments.positionals;
  const auto text = given.size() == 1 ? report::schema_text(given.front()) : std::nullopt;
  if (!text) {
    return give_up({bad_word("schema", given, report::schema_names(), "ridgeline schema result")},
                   manners);
  }
  return put_out(*text, manners);
}

}  // namespace ridgeline::cli
