#include "cli/verb_pages.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/list_choices.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

std::vector<std::string> split_choices(std::string_view text) {
  std::vector<std::string> words;
  while (text.find('|') != std::string_view::npos) {
    const auto bar = text.find('|');
    words.emplace_back(text.substr(0, bar));
    text.remove_prefix(bar + 1);
  }
  if (!words.empty()) {
    words.emplace_back(text);
  }
  return words;
}

}  // namespace

std::vector<VerbPage> verb_pages() {
  std::vector<VerbPage> pages;
  for (const verbs::Verb& verb : verbs::verbs()) {
    if (verb.own != verbs::Own::kHelp) {
      pages.push_back({.name = verb.name, .summary = verb.summary, .opening = describe(verb)});
    }
  }
  return pages;
}

std::vector<std::string> positional_words(const VerbPage& page) {
  std::string_view rest = page.opening.usage;
  rest.remove_prefix(std::min(page.name.size() + 1, rest.size()));
  return split_choices(rest.substr(0, rest.find(' ')));
}

std::vector<std::string> value_words(const FlagSpec& flag) {
  if (flag.name == "client-results") {
    std::vector<std::string> names;
    for (const verbs::ClientFormat& client : verbs::client_formats()) {
      names.push_back(fmt::format("{}=", client.name));
    }
    return names;
  }
  std::vector<std::string> known = verbs::known_values(flag.name);
  return known.empty() ? split_choices(flag.value) : known;
}

bool takes_file(const FlagSpec& flag) {
  // Settings that are texts and name no file; a network and a GPU may be files.
  constexpr auto kNoFiles = std::to_array<std::string_view>(
      {"latency", "engine-version", "speculative-config", "trace-tenant", "trace-model"});
  const std::string_view value = flag.value;
  return value.find("FILE") != std::string_view::npos ||
         value.find("FOLDER") != std::string_view::npos || value == "DIR" ||
         (value == "VALUE" && std::ranges::find(kNoFiles, flag.name) == kNoFiles.end());
}

}  // namespace ridgeline::cli
