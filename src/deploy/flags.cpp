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
#include "deploy/layout.hpp"
#include "deploy/paths.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_json.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/nested_members.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

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

}  // namespace

std::string one_line(const Node& node) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  document::write(node, json);
  return json.text();
}

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
