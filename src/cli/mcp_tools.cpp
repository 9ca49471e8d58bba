#include "cli/mcp_tools.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "scenario/options.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::cli {
namespace {

using document::list_node;
using document::MapBuilder;
using document::Node;
using verbs::ScenarioPart;

constexpr std::string_view kHelp = "help";
/// Verbs that answer with what they found and write no file but where a key names a folder.
constexpr std::array<std::string_view, 9> kTools = {
    "run", "replay", "explain", "step", "sweep", "plan", "upgrade", "validate", "list"};
constexpr std::size_t kMostSettings = 30;

/// Keys that the command line reads from files alone.
struct FileKey {
  std::string_view tool;
  std::string_view key;
  std::string_view help;
};
constexpr std::array<FileKey, 5> kFileKeys = {{
    {"sweep", "axes", "{\"engine.max_num_seqs\": [64, 128]}: every combination is run"},
    {"sweep", "measure", "\"run\", or \"capacity\": the highest rate within the targets of `slo`"},
    {"plan", "space", "{\"gpu\": [\"h100\", \"l40s\"]}: settings that are searched"},
    {"plan", "limits", "{\"max_gpus\": 16}"},
    {"plan", "mix", "Several workloads or kinds of GPU together, as in a plan's file"},
}};

Node types(std::vector<std::string> names) {
  return document::texts_node(names);
}

/// The JSON Schema of a key of a verb's own.
Node own_key(const verbs::Parameter& parameter) {
  using Kind = verbs::Parameter::Kind;
  MapBuilder schema;
  switch (parameter.kind) {
    case Kind::kSwitch:
      schema.add("type", "boolean");
      break;
    case Kind::kWords:
    case Kind::kEach:
      schema.add("type", "array").add("items", MapBuilder().add("type", "string"));
      break;
    default:
      schema.add("type", types({"string", "number"}));
  }
  return schema.add("description", parameter.help);
}

bool is_own_key(const verbs::Parameter& parameter) {
  using Kind = verbs::Parameter::Kind;
  return parameter.kind == Kind::kText || parameter.kind == Kind::kSwitch ||
         parameter.kind == Kind::kWords || parameter.kind == Kind::kEach;
}

bool is_in(ScenarioPart part, std::string_view section) {
  switch (part) {
    case ScenarioPart::kNone:
      return false;
    case ScenarioPart::kDeployment:
      return section == "latency" || section == "engine";
    case ScenarioPart::kServer:
      return section == "latency" || section == "engine" || section == "serving";
    case ScenarioPart::kWhole:
      return true;
  }
  return false;
}

/// The keys of a section and of those below it, by their paths from there.
std::string keys_of(const std::string& section) {
  std::vector<std::string_view> keys;
  for (const scenario::Option& option : scenario::options()) {
    if (option.path.starts_with(section + ".")) {
      keys.push_back(option.path.substr(section.size() + 1));
    }
  }
  return fmt::format("{}", fmt::join(keys, ", "));
}

/// Adds the scenario: each key of the top, and each section, with the names of its keys in the
/// first tool alone: `help` describes them.
void add_scenario(ScenarioPart part, bool names_keys, MapBuilder& properties) {
  properties.add(
      "base",
      MapBuilder()
          .add("type", types({"string", "object"}))
          .add("description", "A scenario's file, or a scenario: the other keys are laid over it"));
  for (const scenario::Option& option : scenario::options()) {
    if (option.section().empty() &&
        (part == ScenarioPart::kWhole || option.path == "model" || option.path == "gpu")) {
      properties.add(option.path,
                     MapBuilder().add("description",
                                      fmt::format("{}. Example: {}", option.help, option.example)));
    }
  }
  for (const std::string& section : scenario::sections_below("")) {
    if (is_in(part, section)) {
      properties.add(
          section,
          MapBuilder().add("description",
                           names_keys ? fmt::format("Keys: {}", keys_of(section))
                                      : fmt::format("As in the tool {}", kTools.front())));
    }
  }
}

Node tool(std::string_view name,
          std::string_view title,
          std::string_view description,
          MapBuilder properties) {
  return MapBuilder()
      .add("name", name)
      .add("title", title)
      .add("description", description)
      .add("inputSchema",
           MapBuilder().add("type", "object").add("properties", std::move(properties)))
      .add("annotations",
           MapBuilder().add("readOnlyHint", name != "plan").add("openWorldHint", false));
}

Node tool_of(const verbs::Verb& verb) {
  MapBuilder properties;
  if (!verb.words.empty()) {
    properties.add(verb.words,
                   MapBuilder()
                       .add("type", types({"string", "array"}))
                       .add("items", MapBuilder().add("type", "string"))
                       .add("description", fmt::format("As in: ridgeline {}", verb.usage)));
  }
  for (const verbs::Parameter& parameter : verb.parameters) {
    if (is_own_key(parameter)) {
      properties.add(parameter.key, own_key(parameter));
    }
  }
  for (const FileKey& more : kFileKeys) {
    if (more.tool == verb.name) {
      properties.add(more.key, MapBuilder().add("description", more.help));
    }
  }
  if (verb.scenario != ScenarioPart::kNone) {
    add_scenario(verb.scenario, verb.name == kTools.front(), properties);
  }
  return tool(verb.name,
              verb.summary,
              verb.about.empty() ? verb.summary : verb.about,
              std::move(properties));
}

Node setting(const scenario::Option& option) {
  return MapBuilder()
      .add("path", option.path)
      .add("kind", option.kind())
      .add("unit", document::text_or_null(option.unit))
      .add("range", document::text_or_null(option.range_text()))
      .add("default", option.default_text())
      .add("help", option.help)
      .add("example", option.example);
}

}  // namespace

const Node& mcp_tools() {
  static const Node kList = [] {
    std::vector<Node> tools;
    for (const std::string_view name : kTools) {
      tools.push_back(tool_of(*verbs::find_verb(name)));
    }
    tools.push_back(tool(
        kHelp,
        "what tools take, and the settings of a scenario",
        "Describes a tool with its own keys, or the settings of a scenario that have all words "
        "of a text: their paths, ranges, defaults and an example.",
        MapBuilder().add("about",
                         MapBuilder()
                             .add("type", "string")
                             .add("description",
                                  "A tool's name, or words: \"prefix cache\", "
                                  "\"engine.max_num_seqs\""))));
    return list_node(std::move(tools));
  }();
  return kList;
}

bool is_mcp_tool(std::string_view name) {
  return name == kHelp || std::ranges::find(kTools, name) != kTools.end();
}

Node mcp_help(const Node& arguments) {
  const Node* const given = arguments.find("about");
  const std::string about = given != nullptr && given->is_string() ? given->as_string() : "";
  std::vector<Node> found;
  for (const Node& each : mcp_tools().items()) {
    if (about.empty() || each.find("name")->as_string() == about) {
      found.push_back(
          about.empty()
              ? Node(MapBuilder().add("name", *each.find("name")).add("title", *each.find("title")))
              : each);
    }
  }
  if (!found.empty()) {
    return MapBuilder().add("tools", list_node(std::move(found)));
  }
  std::istringstream stream(core::lower_case(about));
  const std::vector<std::string> words{std::istream_iterator<std::string>(stream), {}};
  std::vector<Node> settings;
  std::size_t left_out = 0;
  for (const scenario::Option& option : scenario::options()) {
    const std::string text = core::lower_case(fmt::format("{} {}", option.path, option.help));
    const bool has_all = std::ranges::all_of(
        words, [&](const std::string& word) { return text.find(word) != std::string::npos; });
    if (has_all && settings.size() < kMostSettings) {
      settings.push_back(setting(option));
    } else if (has_all) {
      ++left_out;
    }
  }
  return MapBuilder().add("settings", list_node(std::move(settings))).add("more", left_out);
}

}  // namespace ridgeline::cli
