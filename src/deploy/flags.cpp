#include "deploy/flags.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/shell_word.hpp"
#include "deploy/layout.hpp"
#include "deploy/paths.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "document/reader.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/nested_members.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

const scenario::ForeignProgram& vllm() {
  static const scenario::ForeignProgram& program = scenario::foreign_program("vllm");
  return program;
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
std::string server_text(const scenario::StatedOption& row, const Node& value) {
  if (value.is_map()) {
    return one_line(row.option == kSpeculativeConfig ? without(value, kAcceptance) : value);
  }
  const std::string text = scenario::flow_text(value);
  const auto named = std::ranges::find(
      row.values, text, [](const auto& pair) -> const std::string& { return pair.first; });
  return named == row.values.end() ? text : named->second;
}

std::string version_text(scenario::Version version) {
  return fmt::format("{}.{}", version.first, version.second);
}

/// Why a version of vLLM cannot be given an option that it has no flag for.
core::Error no_such_flag(const scenario::StatedOption& row,
                         const Node& value,
                         scenario::Version version) {
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

/// `turns_off`: a switch that is off has a flag.
void put_flag(const scenario::StatedOption& row,
              const Node& value,
              bool turns_off,
              Role& role,
              JsonFlags& json) {
  if (!row.variable.empty()) {
    role.variables.push_back({.name = row.variable, .value = server_text(row, value)});
  } else if (!row.member.empty()) {
    json.of(row.flag).add(row.member, value);
  } else if (value.kind() == Node::Kind::kBool) {
    if (value.as_bool() || turns_off) {
      role.flags.push_back({.name = fmt::format("--{}{}", value.as_bool() ? "" : "no-", row.flag)});
    }
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
  const std::string_view letters = typed.substr(1);
  const auto& rows = vllm().options;
  const auto row = std::ranges::find_if(rows, [&](const scenario::StatedOption& option) {
    const scenario::ForeignFlag* whole = option.member.empty() ? nullptr : vllm().find(option.flag);
    return letters == (whole == nullptr ? option.short_flag : whole->short_name);
  });
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
      const auto row = std::ranges::find(vllm().options, name, &scenario::StatedOption::variable);
      if (name.empty() || equals == std::string::npos || row == vllm().options.end()) {
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
    const auto& rows = vllm().options;
    const auto row = std::ranges::find(rows, plain, &scenario::StatedOption::flag);
    if (row == rows.end()) {
      if (std::ranges::find(vllm().in_deployments, plain) == vllm().in_deployments.end()) {
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
      const auto row =
          std::ranges::find_if(vllm().options, [&](const scenario::StatedOption& other) {
            return other.flag == flag && other.member == path;
          });
      if (row != vllm().options.end()) {
        give(row->option, member.value, word);
      } else if (member.value.is_map()) {
        take_members(flag, member.value, path + ".", word);
      } else {
        note(word, fmt::format("its member {} is not modelled", path), "");
      }
    }
  }

  void unknown(const std::string& name, const Word& word) {
    std::vector<std::string> known = vllm().in_deployments;
    for (const scenario::StatedOption& row : vllm().options) {
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

OptionNodes read_vllm(std::span<const Word> words,
                      std::span<const Word> variables,
                      core::Errors& errors) {
  WordReader reader(errors);
  reader.read(words);
  reader.read_variables(variables);
  return std::move(reader.options);
}

}  // namespace

const Dialect kVllmDialect = {.engine = "vllm", .read = read_vllm};

const scenario::StatedOption* Dialect::stated(std::string_view option) const {
  return scenario::foreign_program(engine).stated(option);
}

void Dialect::put(std::span<const OptionValue> options,
                  std::string_view version_text,
                  Role& role,
                  core::Errors& errors) const {
  const scenario::ForeignProgram& program = scenario::foreign_program(engine);
  const auto version = scenario::parse_version(version_text);  // None of "main", which has all.
  JsonFlags json;
  for (const scenario::StatedOption& row : program.options) {
    const OptionValue* option = find_value(options, row.option);
    if (option == nullptr || !is_explicit(*this, *option)) {
      continue;
    }
    if (!version || row.is_in(*version)) {
      put_flag(row, option->value, program.turns_off, role, json);
    } else if (!row.otherwise ||
               scenario::flow_text(*row.otherwise) != scenario::flow_text(option->value)) {
      errors.push_back(no_such_flag(row, option->value, *version));
    }
  }
  for (auto& [flag, members] : json.all) {
    role.flags.push_back({.name = fmt::format("--{}", flag), .value = one_line(members.finish())});
  }
  for (const OptionValue& option : options) {
    if (option.is_stated && !option.is_default && stated(option.option) == nullptr) {
      errors.push_back({.field = std::string(option.option),
                        .message = fmt::format("is {}, and no flag of {} says so",
                                               scenario::flow_text(option.value),
                                               program.title),
                        .hint = "without it"});
    }
  }
}

std::optional<std::int64_t> read_count(std::string_view text) {
  const auto count = core::parse_whole<std::int64_t>(text);
  return count && *count >= 0 ? count : std::nullopt;
}

Node typed_node(const scenario::Option& option, const Word& word) {
  const std::string& text = word.text;
  const std::string_view kind = option.kind();
  if (kind == "integer" || kind == "number") {
    if (const auto integer = core::parse_whole<std::int64_t>(text)) {
      return Node::integer(*integer, word.where);
    }
    if (const auto real = core::parse_whole<double>(text)) {
      return Node::real(*real, word.where);
    }
  }
  return Node::string(text, word.where);
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
  const scenario::StatedOption* row = dialect.stated(option.option);
  return !option.value.is_null() && row != nullptr &&
         (row->always || (option.is_stated && !option.is_default));
}

}  // namespace ridgeline::deploy
