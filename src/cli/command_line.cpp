#include "cli/command_line.hpp"

#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/laboratory.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

namespace {

ExitCode refuse(std::string message, std::string hint) {
  print_errors({usage_error("", std::move(message), std::move(hint))}, default_manners().err);
  return ExitCode::kUsage;
}

}  // namespace

ExitCode run_command_line(std::span<const std::string> words) {
  if (words.empty()) {
    static_cast<void>(write_all(STDERR_FILENO, first_page()));
    return ExitCode::kUsage;
  }
  const std::string& word = words.front();
  const auto rest = words.subspan(1);
  if (word == "--help" || word == "-h") {
    return help_command(rest);
  }
  if (word == "--version" || word == "-V") {
    return version_command(rest);
  }
  if (asks_for_records(word, rest)) {
    return run_laboratory("records", rest);
  }
  if (const verbs::Verb* const verb = verbs::find_verb(word);
      verb != nullptr && !verb->is_command()) {
    return asks_for_laboratory(rest) ? run_laboratory(word, rest) : run_verb(*verb, rest);
  }
  if (is_laboratorys(word)) {
    return run_laboratory(word, rest);
  }
  std::vector<std::string> names;
  for (const auto& known : verbs::verbs()) {
    if (!known.is_command()) {
      names.push_back(known.name);
    }
  }
  const auto near = document::nearest(word, names);
  const bool is_flag = word.starts_with('-');
  return refuse(fmt::format("found \"{}\", expected a verb", word),
                near      ? fmt::format("did you mean '{}'?", *near)
                : is_flag ? "the verb comes first: ridgeline run " + word
                          : "`ridgeline help` lists the verbs");
}

}  // namespace ridgeline::cli
