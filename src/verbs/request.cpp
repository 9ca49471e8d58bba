#include "verbs/request.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "deploy/read.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;

}  // namespace

bool Request::has(std::string_view key) const {
  return std::ranges::find(members_, key, &Node::Member::key) != members_.end();
}

Node Request::take(std::string_view key) {
  const auto found = std::ranges::find(members_, key, &Node::Member::key);
  if (found == members_.end()) {
    return {};
  }
  Node value = found->value;
  members_.erase(found);
  return value;
}

std::string Request::take_text(std::string_view key, std::string otherwise) {
  const Node value = take(key);
  if (value.is_null()) {
    return otherwise;
  }
  if (!value.is_string()) {
    expected(key, value, "a text");
    return otherwise;
  }
  return value.as_string();
}

std::optional<std::string> Request::take_word(std::string_view key) {
  const Node value = take(key);
  switch (value.kind()) {
    case Node::Kind::kNull:
      return std::nullopt;
    case Node::Kind::kString:
      return value.as_string();
    case Node::Kind::kInteger:
      return fmt::format("{}", value.as_integer());
    case Node::Kind::kReal:
      return fmt::format("{}", value.as_real());
    default:
      return value.describe();  // Refused where it is read.
  }
}

bool Request::take_bool(std::string_view key, bool otherwise) {
  const Node value = take(key);
  if (value.is_null()) {
    return otherwise;
  }
  if (value.kind() != Node::Kind::kBool) {
    expected(key, value, "true or false");
    return otherwise;
  }
  return value.as_bool();
}

std::vector<std::string> Request::take_texts(std::string_view key, bool or_one) {
  const Node value = take(key);
  std::vector<std::string> texts;
  if (value.is_null()) {
    return texts;
  }
  if (or_one && value.is_string()) {
    return {value.as_string()};
  }
  if (!value.is_list() || !std::ranges::all_of(value.items(), &Node::is_string)) {
    expected(key, value, "a list of texts");
    return texts;
  }
  for (const Node& item : value.items()) {
    texts.push_back(item.as_string());
  }
  return texts;
}

std::int64_t Request::take_count(std::string_view key,
                                 std::int64_t otherwise,
                                 std::int64_t highest) {
  if (!is_words()) {
    return take_integer(key, otherwise, 1, highest);
  }
  const std::string text = take_text(key);
  const auto value = core::parse_whole<std::int64_t>(text);
  if (text.empty() || (value && *value >= 1 && *value <= highest)) {
    return value.value_or(otherwise);
  }
  add(problem(key, fmt::format("\"{}\" is out of range, expected 1 to {}", text, highest)));
  return otherwise;
}

std::int64_t Request::take_integer(std::string_view key,
                                   std::int64_t otherwise,
                                   std::int64_t lowest,
                                   std::int64_t highest) {
  const Node value = take(key);
  if (value.is_null()) {
    return otherwise;
  }
  const auto number = value.kind() == Node::Kind::kInteger ? std::optional(value.as_integer())
                      : is_words() ? core::parse_whole<std::int64_t>(value.as_string())
                                   : std::nullopt;
  if (!number || *number < lowest || *number > highest) {
    const std::string found = is_words() ? core::quote(value.as_string()) : value.describe();
    core::Error error = problem(
        key,
        fmt::format("found {}, expected a whole number from {} to {}", found, lowest, highest));
    error.where = value.where();
    add(std::move(error));
    return otherwise;
  }
  return *number;
}

std::optional<double> Request::take_number(std::string_view key) {
  const Node value = take(key);
  if (value.is_null()) {
    return std::nullopt;
  }
  if (!value.is_number()) {
    expected(key, value, "a number");
    return std::nullopt;
  }
  return value.as_real();
}

std::int64_t Request::take_threads(std::string_view key) {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  return take_count(key, std::max<std::int64_t>(1, cores), kMostThreads);
}

std::string Request::take_file(std::string_view expected) {
  const std::vector<std::string> files = take_texts("file", true);
  if (files.size() == 1 && !files.front().empty()) {
    return files.front();
  }
  if (!is_words()) {
    add({.field = "file", .message = "missing, expected the path of a file"});
    return {};
  }
  add({.message = files.empty() ? fmt::format("no file is given, expected {}", expected)
                                : fmt::format("{} is one file too many, expected {}",
                                              core::quote(files[files.size() > 1 ? 1 : 0]),
                                              expected),
       .where = {.file = "command line"}});
  return {};
}

std::string Request::take_folder(std::string_view verb, std::string example) {
  const std::vector<std::string> folders = take_texts("folder", true);
  if (folders.size() == 1) {
    return folders.front();
  }
  add({.field = std::string(verb),
       .message = fmt::format("found {} folders, expected one", folders.size()),
       .where = {.file = "command line"},
       .hint = std::move(example)});
  return {};
}

std::string Request::field(std::string_view key) const {
  std::string name(key);
  if (is_words()) {
    std::ranges::replace(name, '_', '-');
    name.insert(0, "--");
  }
  return name;
}

core::Error Request::problem(std::string_view key, std::string message, std::string hint) const {
  return {.field = field(key),
          .message = std::move(message),
          .where = {.file = is_words() ? "command line" : ""},
          .hint = std::move(hint)};
}

void Request::end() {
  if (is_words()) {
    return;
  }
  for (const Node::Member& member : members_) {
    add({.field = member.key, .message = "unknown key", .where = member.where});
  }
}

bool Request::states(std::string_view path) const {
  if (is_words()) {
    return *stated_ && std::ranges::find((*stated_)->overrides, path, &scenario::Override::path) !=
                           (*stated_)->overrides.end();
  }
  Node at = document();
  while (at.is_map() && !path.empty()) {
    const auto dot = std::min(path.find('.'), path.size());
    const Node* const below = at.find(path.substr(0, dot));
    if (below == nullptr) {
      return false;
    }
    at = Node(*below);
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return path.empty();
}

core::Result<scenario::LoadedScenario> Request::load(scenario::Purpose purpose) const {
  if (!is_words()) {
    return scenario::read_scenario(document(), over_, purpose);
  }
  if (!*stated_) {
    return core::fail(stated_->error());
  }
  Stated said = **stated_;
  said.overrides.insert(said.overrides.end(), over_.begin(), over_.end());
  std::optional<Node> deployed;
  if (said.file) {
    said.launch.needs_acceptance =
        purpose != scenario::Purpose::kLook && !states("engine.speculative_config");
    said.launch.has_acceptance =
        states("engine.speculative_acceptance") || states("engine.simulate_acc_len");
    auto found = deploy::scenario_in_file(*said.file, said.launch);
    if (!found) {
      return core::fail(std::move(found).error());
    }
    if (*found) {
      deployed = std::move((*found)->scenario);
      if (purpose == scenario::Purpose::kLook) {
        said.warnings.push_back(
            {.code = std::string(deploy::kReadAs), .message = (*found)->read_as});
      }
      said.warnings.insert(
          said.warnings.end(), (*found)->warnings.begin(), (*found)->warnings.end());
    }
  }
  auto loaded = deployed ? scenario::read_scenario(*deployed, said.overrides, purpose)
                         : scenario::load_scenario(said.file, said.overrides, purpose);
  if (loaded) {
    loaded->warnings.insert(loaded->warnings.begin(), said.warnings.begin(), said.warnings.end());
  }
  return loaded;
}

void Request::expected(std::string_view key, const Node& found, const std::string& what) {
  core::Error error = problem(key, fmt::format("found {}, expected {}", found.describe(), what));
  error.where = found.where();
  add(std::move(error));
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(comma + 1);
    if (text.empty()) {
      parts.emplace_back();
    }
  }
  return parts;
}

core::Error bad_choice(std::string field,
                       std::string_view value,
                       std::span<const std::string> choices) {
  const auto near = document::nearest(value, choices);
  return {
      .field = std::move(field),
      .message = fmt::format("found \"{}\", expected one of: {}", value, fmt::join(choices, ", ")),
      .where = {.file = "command line"},
      .hint = near ? fmt::format("did you mean {}?", *near) : ""};
}

core::Error bad_word(std::string_view verb,
                     std::span<const std::string> words,
                     std::span<const std::string> choices,
                     std::string example) {
  const auto near = words.empty() ? std::nullopt : document::nearest(words.front(), choices);
  return {.field = std::string(verb),
          .message = fmt::format(
              "found \"{}\", expected one of: {}", fmt::join(words, " "), fmt::join(choices, ", ")),
          .where = {.file = "command line"},
          .hint = near ? fmt::format("did you mean '{}'?", *near) : std::move(example)};
}

}  // namespace ridgeline::verbs
