#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "core/result.hpp"
#include "report/result_json.hpp"
#include "report/schemas.hpp"
#include "scenario/options.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::string_view kSuffix = ".schema.json";

/// The scenario's schema is made from the option table; the others are files.
std::vector<std::string> schema_names() {
  std::vector<std::string> names = {"scenario"};
  for (const auto& file : report::schema_files()) {
    names.emplace_back(file.name.substr(0, file.name.find(kSuffix)));
  }
  return names;
}

core::Result<std::string> schema_text(const std::vector<std::string>& words) {
  const std::vector<std::string> names = schema_names();
  if (words.size() == 1 && words.front() == "scenario") {
    return report::json_text(scenario::scenario_schema());
  }
  for (const auto& file : report::schema_files()) {
    if (words.size() == 1 && file.name == words.front() + std::string(kSuffix)) {
      return std::string(file.text);
    }
  }
  return core::fail(bad_word("schema", words, names, "ridgeline schema result"));
}

}  // namespace

ExitCode schema_command(Words words) {
  const Opening opening{.usage = fmt::format("schema {}", fmt::join(schema_names(), "|")),
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
  const auto text = schema_text(arguments.positionals);
  return text ? put_out(*text, manners) : give_up(text.error(), manners);
}

}  // namespace ridgeline::cli
