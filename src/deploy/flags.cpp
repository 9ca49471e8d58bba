#include "deploy/flags.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/shell_word.hpp"
#include "deploy/catalogue.hpp"
#include "deploy/layout.hpp"
#include "deploy/paths.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "document/reader.hpp"
#include "scenario/nested_members.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

constexpr std::string_view kFlagsFile = "vllm-flags.yaml";

struct FlagTable {
  std::vector<StatedBy> options;
  std::vector<std::string> others;
};

StatedBy read_row(const Node& node, core::Errors& errors) {
  document::ObjectReader reader(node, "options", errors);
  StatedBy row{.option = reader.required_string("option"),
               .flag = reader.string("flag").value_or(""),
               .short_flag = reader.string("short").value_or(""),
               .member = reader.string("member").value_or(""),
               .variable = reader.string("variable").value_or(""),
               .values = {},
               .since = parse_version(reader.string("since").value_or("")),
               .before = reader.string("before").value_or(""),
               .until = parse_version(reader.string("until").value_or("")),
               .always = reader.boolean("always").value_or(false),
               .otherwise = {}};
  if (const Node* values = reader.node("values")) {
    for (const Node::Member& member : values->members()) {
      row.values.emplace_back(member.key, member.value.as_string());
    }
  }
  if (const Node* otherwise = reader.node("otherwise")) {
    row.otherwise = *otherwise;
  }
  reader.finish();
  RIDGELINE_CHECK(scenario::find_option(row.option) != nullptr, row.option);
  return row;
}

const FlagTable& flag_table() {
  static const FlagTable kFlagTable = [] {
    const auto files = data_files();
    const auto file = std::ranges::find(files, kFlagsFile, &document::EmbeddedFile::name);
    RIDGELINE_CHECK(file != files.end(), kFlagsFile);
    const auto document = document::parse_yaml(file->text, std::string(kFlagsFile));
    RIDGELINE_CHECK(document.has_value(), kFlagsFile);
    FlagTable read;
    core::Errors errors;
    for (const Node& row : document->find("options")->items()) {
      read.options.push_back(read_row(row, errors));
    }
    for (const Node& flag : document->find("others")->items()) {
      read.others.push_back(flag.as_string());
    }
    RIDGELINE_CHECK(errors.empty(), errors.empty() ? "" : core::to_string(errors.front()));
    return read;
  }();
  return kFlagTable;
}

std::string one_line(const Node& node) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  document::write(node, json);
  return json.text();
}

/// A map without one of its keys.
Node without(const Node& map, std::string_view key) {
  std::vector<Node::Member> members = map.members();
  std::erase_if(members, [&](const Node::Member& member) { return member.key == key; });
  return Node::map(std::move(members), map.where());
}

/// What a server is given of an option's value.
std::string server_text(const StatedBy& row, const Node& value) {
  if (value.is_map()) {
    return one_line(row.option == kSpeculativeConfig ? without(value, kAcceptance) : value);
  }
  const std::string text = scenario::flow_text(value);
  const auto named = std::ranges::find(
      row.values, text, [](const auto& pair) -> const std::string& { return pair.first; });
  return named == row.values.end() ? text : named->second;
}

std::string version_text(Version version) {
  return fmt::format("{}.{}", version.first, version.second);
}

/// Why a version of vLLM cannot be given an option that it has no flag for.
core::Error no_such_flag(const StatedBy& row, const Node& value, Version version) {
  std::string what = row.flag.empty() ? row.variable : fmt::format("--{}", row.flag);
  if (!row.member.empty()) {
    what = fmt::format("{} in {}", row.member, what);
  }
  if (!row.before.empty() && version < *row.since) {
    what += fmt::format(
        ", which is there from {} on, and was {} before", version_text(*row.since), row.before);
  }
  return {
      .field = row.option,
      .message = fmt::format("is {}, and vLLM {} is not known to have {}",
                             scenario::flow_text(value),
                             version_text(version),
                             what),
      .hint = row.since && version < *row.since
                  ? fmt::format("--engine-version vllm@{}, or without it", version_text(*row.since))
                  : "without it"};
}

/// Members of JSON flags, each flag's together.
struct JsonFlags {
  std::vector<std::pair<std::string, scenario::NestedMembers>> all;

  scenario::NestedMembers& of(const std::string& flag) {
    const auto found =
        std::ranges::find(all, flag, &std::pair<std::string, scenario::NestedMembers>::first);
    return found != all.end() ? found->second
                              : all.emplace_back(flag, scenario::NestedMembers()).second;
  }
};

void put_flag(const StatedBy& row, const Node& value, Role& role, JsonFlags& json) {
  if (!row.variable.empty()) {
    role.variables.push_back({.name = row.variable, .value = server_text(row, value)});
  } else if (!row.member.empty()) {
    json.of(row.flag).add(row.member, value);
  } else if (value.kind() == Node::Kind::kBool) {
    role.flags.push_back({.name = fmt::format("--{}{}", value.as_bool() ? "" : "no-", row.flag)});
  } else {
    role.flags.push_back({.name = fmt::format("--{}", row.flag), .value = server_text(row, value)});
  }
}

const OptionValue* find_value(std::span<const OptionValue> options, std::string_view path) {
  const auto found = std::ranges::find(options, path, &OptionValue::option);
  return found == options.end() ? nullptr : &*found;
}

/// Without dashes and value; a short flag by its long name, or nothing.
std::string long_name(std::string_view word) {
  const std::string_view typed = word.substr(0, word.find('='));
  if (typed.starts_with("--")) {
    return std::string(typed.substr(2));
  }
  const auto& rows = flag_table().options;
  const auto row = std::ranges::find(rows, typed.substr(1), &StatedBy::short_flag);
  return row == rows.end() ? std::string() : row->flag;
}

/// Reads the words of one command line.
class WordReader {
 public:
  explicit WordReader(core::Errors& errors) : errors_(errors) {}

  void read(std::span<const Word> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      if (!core::is_flag_word(word.text)) {
        note(word, "found, expected a flag", "");
        continue;
      }
      const std::size_t equals = word.text.find('=');
      const std::string name = long_name(word.text);
      std::optional<Word> value;
      if (equals != std::string::npos) {
        value = Word{.text = word.text.substr(equals + 1), .where = word.where};
      } else if (i + 1 < words.size() && !core::is_flag_word(words[i + 1].text)) {
        value = words[++i];
      }
      if (name.empty()) {
        note(word, "no such flag is read", "flags are spelt out with two dashes");
      } else {
        take(name, value, word);
      }
    }
  }

  void read_variables(std::span<const Word> variables) {
    for (const Word& word : variables) {
      const std::size_t equals = word.text.find('=');
      const std::string name = word.text.substr(0, equals);
      const auto row = std::ranges::find(flag_table().options, name, &StatedBy::variable);
      if (name.empty() || equals == std::string::npos || row == flag_table().options.end()) {
        continue;  // A variable of the machine, not of the engine.
      }
      std::string text = word.text.substr(equals + 1);
      for (const auto& [ours, theirs] : row->values) {
        if (theirs == text) {
          text = ours;
          break;
        }
      }
      const bool is_switch = text == "true" || text == "false";
      give(row->option,
           is_switch ? Node::boolean(text == "true", word.where) : Node::string(text, word.where),
           word);
    }
  }

  OptionNodes options;

 private:
  void note(const Word& word, std::string message, std::string hint) {
    errors_.push_back({.field = word.text.substr(0, word.text.find('=')),
                       .message = std::move(message),
                       .where = word.where,
                       .hint = std::move(hint)});
  }

  void give(const std::string& option, Node value, const Word& word) {
    if (std::ranges::find(options, option, &std::pair<std::string, Node>::first) != options.end()) {
      note(word, "given twice", "");
      return;
    }
    options.emplace_back(option, std::move(value));
  }

  void take(const std::string& name, const std::optional<Word>& value, const Word& word) {
    const bool is_off = name.starts_with("no-");
    const std::string plain = is_off ? name.substr(3) : name;
    const auto& rows = flag_table().options;
    const auto row = std::ranges::find(rows, plain, &StatedBy::flag);
    if (row == rows.end()) {
      if (std::ranges::find(flag_table().others, plain) == flag_table().others.end()) {
        unknown(plain, word);
      }
      return;
    }
    if (!row->member.empty()) {
      take_json(plain, value, word);
      return;
    }
    const scenario::Option& option = *scenario::find_option(row->option);
    if (option.is_switch() && !value) {
      give(row->option, Node::boolean(!is_off, word.where), word);
    } else if (option.is_switch() || is_off) {
      note(word, "is a switch, expected no value", "");
    } else if (!value) {
      note(word, "expected a value", std::string(option.example));
    } else if (option.kind() == "map") {
      if (auto json = json_of(*value, word)) {
        give(row->option, std::move(*json), word);
      }
    } else {
      give(row->option, typed_node(option, *value), word);
    }
  }

  std::optional<Node> json_of(const Word& value, const Word& word) {
    auto json = document::parse_json(value.text, value.where.file);
    if (!json || !json->is_map()) {
      note(word, fmt::format("found {}, expected a map in JSON", core_quote(value.text)), "");
      return std::nullopt;
    }
    return *json;
  }

  static std::string core_quote(std::string_view text) { return fmt::format("\"{}\"", text); }

  /// A flag whose JSON has options as members.
  void take_json(const std::string& flag, const std::optional<Word>& value, const Word& word) {
    const auto json = value ? json_of(*value, word) : std::nullopt;
    if (!json) {
      if (!value) {
        note(word, "expected a value", "{\"cudagraph_mode\": \"FULL_DECODE_ONLY\"}");
      }
      return;
    }
    take_members(flag, *json, "", word);
  }

  void take_members(const std::string& flag,
                    const Node& map,
                    const std::string& before,
                    const Word& word) {
    for (const Node::Member& member : map.members()) {
      const std::string path = before + member.key;
      const auto row = std::ranges::find_if(flag_table().options, [&](const StatedBy& other) {
        return other.flag == flag && other.member == path;
      });
      if (row != flag_table().options.end()) {
        give(row->option, member.value, word);
      } else if (member.value.is_map()) {
        take_members(flag, member.value, path + ".", word);
      } else {
        note(word, fmt::format("its member {} is not modelled", path), "");
      }
    }
  }

  void unknown(const std::string& name, const Word& word) {
    std::vector<std::string> known = flag_table().others;
    for (const StatedBy& row : flag_table().options) {
      if (!row.flag.empty()) {
        known.push_back(row.flag);
      }
    }
    const auto near = document::nearest(name, known);
    note(word,
         "is no flag that a deployment file is read for",
         near ? fmt::format("did you mean --{}?", *near)
              : fmt::format("take it out, or say it to ridgeline: `ridgeline help coming-from`"));
  }

  core::Errors& errors_;
};

const StatedBy* find_row(std::string_view option) {
  const auto rows = stated_options();
  const auto row = std::ranges::find(rows, option, &StatedBy::option);
  return row == rows.end() ? nullptr : &*row;
}

bool vllm_says(std::string_view option) {
  return find_row(option) != nullptr;
}

bool vllm_always(std::string_view option) {
  const StatedBy* row = find_row(option);
  return row != nullptr && row->always;
}

void put_vllm(std::span<const OptionValue> options,
              std::string_view version_text,
              Role& role,
              core::Errors& errors) {
  const auto version = parse_version(version_text);
  RIDGELINE_CHECK(version.has_value(), version_text);
  JsonFlags json;
  for (const StatedBy& row : stated_options()) {
    const OptionValue* option = find_value(options, row.option);
    if (option == nullptr || !is_explicit(kVllmDialect, *option)) {
      continue;
    }
    if (row.is_in(*version)) {
      put_flag(row, option->value, role, json);
    } else if (!row.otherwise ||
               scenario::flow_text(*row.otherwise) != scenario::flow_text(option->value)) {
      errors.push_back(no_such_flag(row, option->value, *version));
    }
  }
  for (auto& [flag, members] : json.all) {
    role.flags.push_back({.name = fmt::format("--{}", flag), .value = one_line(members.finish())});
  }
  for (const OptionValue& option : options) {
    if (option.is_stated && !option.is_default && !vllm_says(option.option)) {
      errors.push_back({.field = std::string(option.option),
                        .message = fmt::format("is {}, and no flag of vLLM says so",
                                               scenario::flow_text(option.value)),
                        .hint = "without it"});
    }
  }
}

OptionNodes read_vllm(std::span<const Word> words,
                      std::span<const Word> variables,
                      core::Errors& errors) {
  WordReader reader(errors);
  reader.read(words);
  reader.read_variables(variables);
  return std::move(reader.options);
}

}  // namespace

const Dialect kVllmDialect = {
    .engine = "vllm", .says = vllm_says, .always = vllm_always, .put = put_vllm, .read = read_vllm};

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

std::optional<std::int64_t> read_count(std::string_view text) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  return error == std::errc() && rest == end && count >= 0 ? std::optional(count) : std::nullopt;
}

Node typed_node(const scenario::Option& option, const Word& word) {
  const std::string& text = word.text;
  const std::string_view kind = option.kind();
  if (kind == "integer" || kind == "number") {
    const char* const end = text.data() + text.size();
    std::int64_t integer = 0;
    if (const auto [rest, error] = std::from_chars(text.data(), end, integer);
        error == std::errc() && rest == end) {
      return Node::integer(integer, word.where);
    }
    double real = 0.0;
    if (const auto [rest, error] = std::from_chars(text.data(), end, real);
        error == std::errc() && rest == end) {
      return Node::real(real, word.where);
    }
  }
  return Node::string(text, word.where);
}

std::span<const StatedBy> stated_options() {
  return flag_table().options;
}

const Dialect* find_dialect(std::string_view engine) {
  for (const Dialect* dialect : {&kVllmDialect, &kSglangDialect}) {
    if (dialect->engine == engine) {
      return dialect;
    }
  }
  return nullptr;
}

bool is_explicit(const Dialect& dialect, const OptionValue& option) {
  return !option.value.is_null() && dialect.says(option.option) &&
         (dialect.always(option.option) || (option.is_stated && !option.is_default));
}

}  // namespace ridgeline::deploy
