#include "scenario/foreign_flags.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "scenario/options.hpp"

namespace ridgeline::scenario {
namespace {

using document::Node;
using Answer = ForeignFlag::Answer;

Node read_file(std::string_view name) {
  const auto files = flag_files();
  const auto file = std::ranges::find(files, name, &document::EmbeddedFile::name);
  RIDGELINE_CHECK(file != files.end(), name);
  auto read = document::parse_yaml(file->text, std::string(name));
  RIDGELINE_CHECK(read.has_value(), name);
  return *std::move(read);
}

const Node& answers(std::string_view part) {
  static const Node kAnswers = read_file("answers.yaml");
  return *kAnswers.find(part);
}
const Node& answers(Answer answer) {
  return answers(answer == Answer::kRefused ? "refused" : "ignored");
}

std::vector<std::string> texts_of(const Node* list) {
  std::vector<std::string> texts;
  for (const Node& item : list == nullptr ? std::vector<Node>() : list->items()) {
    texts.push_back(item.as_string());
  }
  return texts;
}

WordPairs pairs_of(const Node& map) {
  WordPairs pairs;
  for (const Node::Member& member : map.members()) {
    pairs.emplace_back(member.key, member.value.as_string());
  }
  return pairs;
}

/// A key whose value is a text of the row.
template <class Row>
using TextKey = std::pair<std::string_view, std::string Row::*>;

constexpr std::array<TextKey<StatedOption>, 6> kOptionTexts = {
    {{"option", &StatedOption::option},
     {"flag", &StatedOption::flag},
     {"short", &StatedOption::short_flag},
     {"member", &StatedOption::member},
     {"variable", &StatedOption::variable},
     {"before", &StatedOption::before}}};
constexpr std::array<TextKey<ForeignFlag>, 5> kFlagTexts = {{{"name", &ForeignFlag::name},
                                                             {"short", &ForeignFlag::short_name},
                                                             {"means", &ForeignFlag::text},
                                                             {"takes", &ForeignFlag::takes},
                                                             {"unit", &ForeignFlag::unit}}};

/// Reads another key of a row; false where there is no such key.
bool read_key(std::string_view key, const Node& value, StatedOption& option) {
  if (key == "since" || key == "until") {
    (key == "since" ? option.since : option.until) = parse_version(value.as_string());
  } else if (key == "always" || key == "lenient") {
    (key == "always" ? option.always : option.is_lenient) = value.as_bool();
  } else if (key == "values") {
    option.values = pairs_of(value);
  } else if (key == "otherwise") {
    option.otherwise = value;
  } else {
    return false;
  }
  return true;
}

bool read_key(std::string_view key, const Node& value, ForeignFlag& flag) {
  if (key == "values") {
    flag.values = pairs_of(value);
    return true;
  }
  flag.answer = key == "refused" ? Answer::kRefused : Answer::kIgnored;
  const Node* text = answers(flag.answer).find(value.as_string());
  RIDGELINE_CHECK(text != nullptr && flag.text.empty(), flag.name);
  flag.text = text->as_string();
  return key == "refused" || key == "ignored";
}

template <class Row, std::size_t NumTexts>
std::vector<Row> read_rows(const Node& list, const std::array<TextKey<Row>, NumTexts>& texts) {
  std::vector<Row> rows;
  for (const Node& node : list.items()) {
    Row& row = rows.emplace_back();
    for (const Node::Member& member : node.members()) {
      const auto* const text = std::ranges::find(texts, member.key, &TextKey<Row>::first);
      if (text != texts.end()) {
        row.*(text->second) = member.value.as_string();
      } else {
        RIDGELINE_CHECK(read_key(member.key, member.value, row), member.key);
      }
    }
  }
  return rows;
}

/// The flags of launches, a row for each name of their groups.
std::vector<LaunchFlag> read_launches(const Node& groups) {
  constexpr std::array<std::string_view, 4> kTakes = {"none", "one", "many", "maybe"};
  std::vector<LaunchFlag> flags;
  for (const Node& group : groups.items()) {
    if (const Node* means = group.find("means")) {
      for (const auto& [name, meant] : pairs_of(*means)) {
        flags.push_back({.name = name, .means = meant});
      }
      continue;
    }
    const auto* const takes = std::ranges::find(kTakes, group.find("takes")->as_string());
    LaunchFlag flag{.takes = static_cast<LaunchFlag::Takes>(takes - kTakes.begin()),
                    .answer = group.find("answer")->as_string(),
                    .unless = texts_of(group.find("unless"))};
    if (const Node* why = group.find("why")) {
      flag.why = answers(Answer::kRefused).find(why->as_string())->as_string();
    }
    for (const auto& [key, version] :
         {std::pair("since", &LaunchFlag::since), std::pair("until", &LaunchFlag::until)}) {
      const Node* text = group.find(key);
      flag.*version = text == nullptr ? std::nullopt : parse_version(text->as_string());
    }
    for (const std::string& name : texts_of(group.find("names"))) {
      flags.push_back(flag);
      flags.back().name = name;
    }
  }
  return flags;
}

/// Adds an engine's own settings to its options, each a flag of its name where no row says
/// otherwise, and puts all in the order of the scenario's options.
void add_settings(ForeignProgram& program) {
  std::vector<StatedOption> all;
  for (const Option& option : options()) {
    if (const StatedOption* row = program.stated(option.path)) {
      all.push_back(*row);
    } else if (option.section() == "engine" && !option.named_kind.empty()) {
      all.push_back({.option = std::string(option.path), .flag = std::string(option.flag)});
    }
  }
  program.options = std::move(all);
}

/// Adds the names by which options are read here, and which are not ours: short ones, then others.
void add_names(ForeignProgram& program) {
  for (const auto name : {&StatedOption::short_flag, &StatedOption::flag}) {
    for (const StatedOption& row : program.options) {
      const Option* option = find_option(row.option);
      RIDGELINE_CHECK(option != nullptr, row.option);
      if (!(row.*name).empty() && row.*name != option->flag && row.member.empty()) {
        program.flags.push_back({.name = row.*name, .text = std::string(option->flag)});
      }
    }
  }
}

ForeignProgram read_program(std::string_view name) {
  const Node file = read_file(fmt::format("{}.yaml", name));
  const auto text = [&](std::string_view key) {
    const Node* node = file.find(key);
    return node == nullptr ? std::string() : node->as_string();
  };
  ForeignProgram program{
      .title = text("title"), .verb = text("verb"), .turns_off = file.find("turns_off") != nullptr};
  if (const Node* rows = file.find("options")) {
    program.options = read_rows(*rows, kOptionTexts);
  }
  if (file.find("settings") != nullptr) {
    add_settings(program);
  }
  add_names(program);
  const auto flags = read_rows(*file.find("flags"), kFlagTexts);
  program.flags.insert(program.flags.end(), flags.begin(), flags.end());
  if (const Node* groups = file.find("launches")) {
    program.launches = read_launches(*groups);
  }
  return program;
}

}  // namespace

std::string ForeignFlag::our_word(const std::string& value) const {
  const auto found = std::ranges::find(values, value, &WordPairs::value_type::first);
  return found == values.end() ? value : found->second;
}

const ForeignFlag* ForeignProgram::find(std::string_view flag) const {
  const auto found = std::ranges::find(flags, flag, &ForeignFlag::name);
  return found == flags.end() ? nullptr : &*found;
}

const StatedOption* ForeignProgram::stated(std::string_view option) const {
  const auto found = std::ranges::find(options, option, &StatedOption::option);
  return found == options.end() ? nullptr : &*found;
}

const ForeignProgram& foreign_program(std::string_view name) {
  static std::array<std::once_flag, kForeignPrograms.size()> are_read;
  static std::array<ForeignProgram, kForeignPrograms.size()> programs;
  const auto* const found = std::ranges::find(kForeignPrograms, name);
  RIDGELINE_CHECK(found != kForeignPrograms.end(), name);
  const auto at = static_cast<std::size_t>(found - kForeignPrograms.begin());
  std::call_once(are_read[at], [&] { programs[at] = read_program(name); });
  return programs[at];
}

const LaunchVariables& launch_variables() {
  static const LaunchVariables kVariables = {
      .engines = texts_of(answers("variables").find("engines")),
      .silent = texts_of(answers("variables").find("silent")),
      .modelled = texts_of(answers("variables").find("modelled")),
      .refused = texts_of(answers("variables").find("refused"))};
  return kVariables;
}

std::vector<std::string> foreign_answers(Answer answer) {
  std::vector<std::string> texts;
  for (const Node::Member& text : answers(answer).members()) {
    texts.push_back(text.value.as_string());
  }
  return texts;
}

std::optional<Version> parse_version(std::string_view text) {
  text = text.substr(text.find('@') == std::string_view::npos ? 0 : text.find('@') + 1);
  Version version;
  const char* const end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.first);
  if (error != std::errc() || dot == end || *dot != '.') {
    return std::nullopt;
  }
  const auto [rest, minor_error] = std::from_chars(dot + 1, end, version.second);
  if (minor_error != std::errc() || (rest != end && *rest != '.')) {
    return std::nullopt;
  }
  return version;
}

}  // namespace ridgeline::scenario
