#include "cli/help.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/foreign_flags.hpp"
#include "core/result.hpp"
#include "document/reader.hpp"
#include "verbs/glossary.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {

ExitCode help_command(Words words) {
  const Manners manners = default_manners();
  if (words.empty()) {
    return put_out(verbs::fitted(first_page(), manners.out.columns), manners);
  }
  const std::string& topic = words.front();
  if (topic == "options") {
    return put_out(verbs::fitted(options_page(), manners.out.columns), manners);
  }
  if (topic == "coming-from") {
    return put_out(verbs::fitted(foreign_page(), manners.out.columns), manners);
  }
  if (topic == "glossary") {
    return put_out(verbs::fitted(verbs::glossary_page(), manners.out.columns), manners);
  }
  const verbs::Verb* const verb = verbs::find_verb(topic);
  if (verb != nullptr && verb->own != verbs::Own::kHelp) {
    static const std::array<std::string, 1> kHelp = {"--help"};
    return run_verb(*verb, kHelp);
  }
  std::vector<std::string> topics = {"options", "coming-from", "glossary"};
  for (const auto& known : verbs::verbs()) {
    if (!known.is_command()) {
      topics.push_back(known.name);
    }
  }
  const auto near = document::nearest(topic, topics);
  return give_up(
      {usage_error("help",
                   fmt::format("found \"{}\", expected one of: {}", topic, fmt::join(topics, ", ")),
                   near ? fmt::format("did you mean '{}'?", *near) : "")},
      manners);
}

}  // namespace ridgeline::cli
