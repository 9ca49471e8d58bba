#include "scenario/scenario.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "latency/step_time_model.hpp"
#include "scenario/node_builder.hpp"
#include "scenario/option_reader.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario_rules.hpp"

namespace ridgeline::scenario {

namespace {

constexpr std::string_view kSet = "set";
constexpr std::string_view kLatency = "latency";
constexpr std::string_view kLatencySet = "latency.set";
constexpr const char* kCommandLine = "command line";

/// Lays documents over a scenario, one after the other.
class Loader {
 public:
  void read(const document::Node& document, Provenance::Origin origin) {
    document::ObjectReader top(document, "", errors_);
    read_options("", document, top, origin);
    for (const std::string_view section :
         {"latency", "engine", "serving", "workload", "cluster", "slo"}) {
      const document::Node* node = top.node(section);
      if (node != nullptr && !node->is_null()) {
        document::ObjectReader reader(*node, std::string(section), errors_);
        read_options(section, *node, reader, origin);
        if (section == kLatency) {
          if (const document::Node* settings = reader.node(kSet); settings != nullptr) {
            read_latency_settings(*settings);
          }
        }
        finish(reader);
      }
    }
    if (const document::Node* patches = top.node(kSet); patches != nullptr && !patches->is_null()) {
      read_patches(*patches);
    }
    finish(top);
  }

  LoadedScenario loaded;
  core::Errors& errors() { return errors_; }

 private:
  /// Notes unknown keys; of one that is an option elsewhere ("quantization" at the top) the hint is
  /// where it belongs.
  void finish(document::ObjectReader& reader) {
    const std::size_t before = errors_.size();
    reader.finish();
    for (std::size_t i = before; i < errors_.size(); ++i) {
      const std::string_view field = errors_[i].field;
      const std::string_view key = field.substr(field.rfind('.') + 1);
      const auto option = std::ranges::find(options(), key, &Option::key);
      if (find_option(field) == nullptr && option != options().end()) {
        errors_[i].hint =
            option->section().empty()
                ? fmt::format("`{}` stands at the top, in no section", key)
                : fmt::format("`{}` belongs to the section `{}`", key, option->section());
      }
    }
  }

  void read_options(std::string_view section,
                    const document::Node& node,
                    document::ObjectReader& reader,
                    Provenance::Origin origin) {
    std::size_t index = 0;
    for (const auto& option : options()) {
      Provenance& provenance = loaded.provenance[index++];
      if (option.section() != section) {
        continue;
      }
      read_option(option, slot_of(option, loaded.scenario), reader, errors_);
      const document::Node* value = node.find(option.key());
      if (value != nullptr && !value->is_null()) {
        provenance.origin = origin;
        provenance.where = value->where();
      }
    }
  }

  void read_patches(const document::Node& node) {
    if (!node.is_map()) {
      errors_.push_back(
          {.field = std::string(kSet),
           .message = fmt::format("found {}, expected a map of what to change", node.describe()),
           .where = node.where(),
           .hint = "set: {model.num_hidden_layers: 40}"});
      return;
    }
    for (const auto& member : node.members()) {
      const auto dot = member.key.find('.');
      const std::string target = member.key.substr(0, dot);
      if (dot == std::string::npos || (target != "model" && target != "hardware")) {
        errors_.push_back({.field = fmt::format("{}.{}", kSet, member.key),
                           .message = "expected model.<key> or hardware.<key>",
                           .where = member.where,
                           .hint = "model.num_hidden_layers, hardware.mem_bandwidth"});
        continue;
      }
      Patch patch{.target = target, .key = member.key.substr(dot + 1), .value = member.value};
      auto& patches = loaded.scenario.deployment.patches;
      const auto same = std::ranges::find_if(patches, [&](const Patch& other) {
        return other.target == patch.target && other.key == patch.key;
      });
      if (same == patches.end()) {
        patches.push_back(std::move(patch));
      } else if (same->value.where().file == patch.value.where().file) {
        errors_.push_back({.field = fmt::format("{}.{}", kSet, member.key),
                           .message = "given twice",
                           .where = member.where});
      } else {
        *same = std::move(patch);
      }
    }
  }

  /// Which keys a step-time model has is for the model to say.
  void read_latency_settings(const document::Node& node) {
    if (node.is_null()) {
      return;
    }
    if (!node.is_map()) {
      errors_.push_back({.field = std::string(kLatencySet),
                         .message = fmt::format(
                             "found {}, expected a map of constants and switches", node.describe()),
                         .where = node.where(),
                         .hint = "set: {perLayerOverhead: 80}"});
      return;
    }
    auto& settings = loaded.scenario.deployment.latency.settings;
    for (const auto& member : node.members()) {
      const auto same = std::ranges::find(settings, member.key, &latency::ModelSetting::key);
      if (same == settings.end()) {
        settings.push_back({.key = member.key, .value = member.value});
      } else if (same->value.where().file == member.value.where().file) {
        errors_.push_back({.field = fmt::format("{}.{}", kLatencySet, member.key),
                           .message = "given twice",
                           .where = member.where});
      } else {
        same->value = member.value;
      }
    }
  }

  core::Errors errors_;
};

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

/// The text after a flag as a document would hold it: words stay words, numbers become numbers.
document::Node scalar(const std::string& text) {
  const core::Location where{.file = kCommandLine};
  if (const auto integer = parse_number<std::int64_t>(text)) {
    return document::Node::integer(*integer, where);
  }
  if (const auto real = parse_number<double>(text); real && std::isfinite(*real)) {
    return document::Node::real(*real, where);
  }
  if (text == "true" || text == "false") {
    return document::Node::boolean(text == "true", where);
  }
  return document::Node::string(text, where);
}

/// The same, and maps and lists as YAML writes them in one line: "{quant_method: fp8}".
core::Result<document::Node> flag_value(const std::string& text) {
  const bool nested = text.starts_with('{') || text.starts_with('[');
  return nested ? document::parse_yaml(text, kCommandLine) : scalar(text);
}

/// Of a program that uses the library: flags have been found in the table before.
core::Error no_such_option(const std::string& path) {
  std::vector<std::string> paths;
  for (const Option& option : options()) {
    paths.emplace_back(option.path);
  }
  const auto meant = document::nearest(path, paths);
  return {.field = path,
          .message = "no such option",
          .where = {.file = kCommandLine},
          .hint = meant ? fmt::format("did you mean {}?", *meant)
                        : "`ridgeline schema scenario` lists them"};
}

/// The overrides as one document.
class OverrideDocument {
 public:
  explicit OverrideDocument(core::Errors& errors) : errors_(errors) {}

  void add(const Override& change) {
    if (change.path == kSet) {
      add_pair(change, "--set", "--set model.num_hidden_layers=40", patches_);
      return;
    }
    if (change.path == kLatencySet) {
      add_pair(change, "--latency-set", "--latency-set perLayerOverhead=80", latency_settings_);
      return;
    }
    const Option* option = find_option(change.path);
    if (option == nullptr) {
      errors_.push_back(no_such_option(change.path));
    } else if (option->kind() == "text") {
      insert(option->section(),
             option->key(),
             document::Node::string(change.text, {.file = kCommandLine}));
    } else if (auto value = keep(flag_value(change.text), change.path)) {
      insert(option->section(), option->key(), std::move(*value));
    }
  }

  document::Node finish() {
    if (!latency_settings_.empty()) {
      insert(kLatency,
             kSet,
             document::Node::map(std::move(latency_settings_), {.file = kCommandLine}));
    }
    if (!patches_.empty()) {
      insert({}, kSet, document::Node::map(std::move(patches_), {.file = kCommandLine}));
    }
    for (auto& [section, members] : sections_) {
      top_.push_back({.key = section,
                      .value = document::Node::map(std::move(members), {.file = kCommandLine}),
                      .where = {.file = kCommandLine}});
    }
    return document::Node::map(std::move(top_), {.file = kCommandLine});
  }

 private:
  using Members = std::vector<document::Node::Member>;

  void add_pair(const Override& change, const char* flag, const char* hint, Members& members) {
    const auto equals = change.text.find('=');
    if (equals == std::string::npos) {
      errors_.push_back({.field = flag,
                         .message = fmt::format("found \"{}\", expected NAME=VALUE", change.text),
                         .where = {.file = kCommandLine},
                         .hint = hint});
      return;
    }
    const std::string key = change.text.substr(0, equals);
    if (auto value = keep(flag_value(change.text.substr(equals + 1)),
                          fmt::format("{}.{}", change.path, key))) {
      members.push_back({.key = key, .value = std::move(*value), .where = {.file = kCommandLine}});
    }
  }

  /// The value, or its problems under the name of what it was meant for.
  std::optional<document::Node> keep(core::Result<document::Node> value, const std::string& field) {
    if (value) {
      return std::move(*value);
    }
    for (core::Error& error : value.error()) {
      error.field = error.field.empty() ? field : error.field;
      errors_.push_back(std::move(error));
    }
    return std::nullopt;
  }

  void insert(std::string_view section, std::string_view key, document::Node value) {
    Members* members = &top_;
    if (!section.empty()) {
      auto found = std::ranges::find(sections_, section, &std::pair<std::string, Members>::first);
      if (found == sections_.end()) {
        sections_.emplace_back(section, Members());
        found = sections_.end() - 1;
      }
      members = &found->second;
    }
    members->push_back(
        {.key = std::string(key), .value = std::move(value), .where = {.file = kCommandLine}});
  }

  core::Errors& errors_;
  Members top_;
  Members patches_;
  Members latency_settings_;
  std::vector<std::pair<std::string, Members>> sections_;
};

}  // namespace

const char* name(Provenance::Origin origin) {
  switch (origin) {
    case Provenance::Origin::kDefault:
      return "default";
    case Provenance::Origin::kFile:
      return "file";
    case Provenance::Origin::kFlag:
      return "flag";
    case Provenance::Origin::kDerived:
      return "derived";
  }
  return "";
}

const Provenance& provenance_of(const std::vector<Provenance>& provenance, std::string_view path) {
  const auto found = std::ranges::find(provenance, path, &Provenance::path);
  RIDGELINE_CHECK(found != provenance.end(), path);
  return *found;
}

core::Result<LoadedScenario> read_scenario(const document::Node& document,
                                           const std::vector<Override>& overrides,
                                           Purpose purpose) {
  Loader loader;
  for (const auto& option : options()) {
    loader.loaded.provenance.push_back({.path = std::string(option.path)});
  }
  loader.read(document, Provenance::Origin::kFile);
  OverrideDocument changes(loader.errors());
  for (const auto& change : overrides) {
    changes.add(change);
  }
  loader.read(changes.finish(), Provenance::Origin::kFlag);
  if (loader.errors().empty()) {
    check_rules(loader.loaded, purpose, loader.errors());
    if (!loader.errors().empty()) {
      // The resolver, which looks the names up, does not run then.
      check_names(loader.loaded, loader.errors());
    }
  }
  if (!loader.errors().empty()) {
    // As a reader meets them: in the order of the file, then the rest.
    std::ranges::stable_sort(loader.errors(), {}, [](const core::Error& error) {
      return std::pair(error.where.line == 0 ? INT_MAX : error.where.line, error.where.column);
    });
    return core::fail(std::move(loader.errors()));
  }
  return std::move(loader.loaded);
}

core::Result<LoadedScenario> load_scenario(const std::optional<std::string>& file,
                                           const std::vector<Override>& overrides,
                                           Purpose purpose) {
  if (!file) {
    return read_scenario(document::Node::map({}, {}), overrides, purpose);
  }
  return document::read_document(*file).and_then(
      [&](const document::Node& document) -> core::Result<LoadedScenario> {
        if (document.is_map() && document.find("config") != nullptr &&
            document.find("run_info") != nullptr) {
          return core::fail(core::Error{
              .message = "found the result of a run, expected a scenario; its config is one",
              .where = {.file = *file},
              .hint = fmt::format("jq .config {0} > scenario.json", *file)});
        }
        return read_scenario(document, overrides, purpose);
      });
}

document::Node to_node(const Scenario& scenario) {
  MapBuilder top;
  MapBuilder section;
  std::string_view open;
  const auto close_section = [&] {
    if (!section.empty()) {
      top.add(open, std::exchange(section, {}));
    }
  };
  for (const auto& option : options()) {
    if (option.section() != open) {
      close_section();
      open = option.section();
    }
    if (auto value = value_node(option, scenario); !value.is_null()) {
      (open.empty() ? top : section).add(option.key(), std::move(value));
    }
    if (option.path == "latency.lookup" && !scenario.deployment.latency.settings.empty()) {
      MapBuilder settings;
      for (const auto& [key, value] : scenario.deployment.latency.settings) {
        settings.add(key, value);
      }
      section.add(kSet, settings.finish());
    }
  }
  close_section();
  MapBuilder patches;
  for (const auto& patch : scenario.deployment.patches) {
    patches.add(fmt::format("{}.{}", patch.target, patch.key), patch.value);
  }
  if (!patches.empty()) {
    top.add(kSet, std::move(patches));
  }
  return top.finish();
}

}  // namespace ridgeline::scenario
