#include "scenario/scenario.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "engine/schedulers.hpp"
#include "latency/accuracy/bands.hpp"
#include "latency/step_time_model.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/nested_members.hpp"
#include "scenario/option_reader.hpp"
#include "scenario/options.hpp"
#include "scenario/override_document.hpp"
#include "scenario/recipes/recipes.hpp"
#include "scenario/refused_settings.hpp"
#include "scenario/scenario_rules.hpp"

namespace ridgeline::scenario {

using document::MapBuilder;

namespace {

constexpr std::string_view kSet = "set";
constexpr std::string_view kLatency = "latency";
constexpr std::string_view kEngine = "engine";
constexpr std::string_view kCalibrated = "calibrated";
constexpr std::string_view kLatencySet = "latency.set";

/// Lays documents over a scenario, one after the other.
class Loader {
 public:
  void read(const document::Node& document, Provenance::Origin origin) {
    read_section("", document, origin);
  }

  LoadedScenario loaded;
  core::Errors& errors() { return errors_; }

 private:
  /// One section and those below it. A plain word is the option of the section that names it.
  void read_section(const std::string& path,
                    const document::Node& node,
                    Provenance::Origin origin) {
    if (node.is_map() && node.members().empty()) {
      return;
    }
    const std::string_view key = node.is_string() ? naming_key(path) : std::string_view();
    if (!key.empty()) {
      const document::Node named = document::Node::map(
          {{.key = std::string(key), .value = node, .where = node.where()}}, node.where());
      read_section(path, named, origin);
      return;
    }
    document::ObjectReader reader(node, path, errors_);
    read_options(path, node, reader, origin);
    for (const std::string& name : sections_below(path)) {
      if (const document::Node* below = reader.node(name); below != nullptr && !below->is_null()) {
        read_section(path.empty() ? name : fmt::format("{}.{}", path, name), *below, origin);
      }
    }
    if (path.empty() || path == kLatency) {
      if (const document::Node* set = reader.node(kSet); set != nullptr && !set->is_null()) {
        path.empty() ? read_patches(*set) : read_latency_settings(*set);
      }
    }
    if (path == kEngine) {
      refuse_settings(reader);
    }
    if (path.empty()) {
      read_calibrated(reader);
      reader.node("serve");  // The section of the verb `serve`, which reads it itself.
    }
    finish(reader);
  }

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

  void read_calibrated(document::ObjectReader& reader) {
    const document::Node* const node = reader.node(kCalibrated);
    if (node != nullptr && !node->is_null()) {
      if (!node->is_map()) {
        reader.problem(kCalibrated,
                       fmt::format("found {}, expected what calibrate writes", node->describe()));
        return;
      }
      static_cast<void>(accuracy::read_own_bands(*node, std::string(kCalibrated), errors_));
      loaded.scenario.deployment.calibrated = *node;
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
      if (dot == std::string::npos ||
          (target != "model" && target != "hardware" && target != "rules")) {
        errors_.push_back(
            {.field = fmt::format("{}.{}", kSet, member.key),
             .message = "expected model.<key>, hardware.<key> or rules.<key>",
             .where = member.where,
             .hint = "model.num_hidden_layers, hardware.mem_bandwidth, rules.reserve_full_prompt"});
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

/// What the scenario's recipe says of settings that neither the file nor a flag states.
void read_recipe_settings(Loader& loader) {
  const auto& recipe = loader.loaded.scenario.deployment.recipe;
  if (!recipe) {
    return;
  }
  auto applied = apply_recipe(*recipe, recipe_facts(loader.loaded.scenario));
  if (!applied) {
    for (core::Error& error : applied.error()) {
      error.where = loader.loaded.of("recipe").where;
      loader.errors().push_back(std::move(error));
    }
    return;
  }
  std::erase_if(applied->settings, [&](const Override& setting) {
    return find_option(setting.path) != nullptr &&
           loader.loaded.of(setting.path).origin != Provenance::Origin::kDefault;
  });
  OverrideDocument changes(loader.errors());
  for (const Override& setting : applied->settings) {
    changes.add(setting);
  }
  loader.read(changes.finish(), Provenance::Origin::kFlag);
  loader.loaded.warnings.push_back({.code = "W-recipe", .message = applied->text(*recipe)});
  if (!applied->unknown.empty()) {
    loader.loaded.warnings.push_back(
        {.code = "W-recipe-open",
         .message = fmt::format("recipe {}: {} by the number of clients or the longest prompt, "
                                "which the workload does not state: the engine's defaults",
                                *recipe,
                                fmt::join(applied->unknown, ", ")),
         .hint = "--max-concurrency, --input-len"});
  }
}

/// The deployment as text; equal texts are of equal servers.
std::string text_of(const DeploymentSection& deployment) {
  return flow_text(to_node({.deployment = deployment, .workload = {}, .run = {}}));
}

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
  const Option* const option = find_option(path);
  RIDGELINE_CHECK(option != nullptr && provenance.size() == options().size(), path);
  return provenance[static_cast<std::size_t>(option - options().data())];
}

core::Result<LoadedScenario> read_scenario(const document::Node& document,
                                           const std::vector<Override>& overrides,
                                           Purpose purpose) {
  Loader loader;
  loader.loaded.provenance.reserve(options().size());
  for (const auto& option : options()) {
    loader.loaded.provenance.push_back({.path = std::string(option.path)});
  }
  loader.read(document, Provenance::Origin::kFile);
  const DeploymentSection stated = loader.loaded.scenario.deployment;
  OverrideDocument changes(loader.errors());
  for (const auto& change : overrides) {
    changes.add(change);
  }
  loader.read(changes.finish(), Provenance::Origin::kFlag);
  if (loader.errors().empty()) {
    read_recipe_settings(loader);
  }
  DeploymentSection& changed = loader.loaded.scenario.deployment;
  if (!changed.calibrated.is_null() && text_of(changed) != text_of(stated)) {
    changed.calibrated = {};  // That was another server.
  }
  if (loader.errors().empty()) {
    check_rules(loader.loaded, purpose, loader.errors());
    if (!loader.errors().empty() || purpose == Purpose::kSend) {
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
  NestedMembers top;
  const engine::SchedulerEntry& engine = entry_of(scenario.deployment.engine);
  for (const auto& option : options()) {
    const bool of_pools = option.path == "cluster.instances" && scenario.run.cluster.pools;
    if (of_pools || !applies(option, engine)) {
      continue;
    }
    if (auto value = value_node(option, scenario); !value.is_null()) {
      top.add(option.path, std::move(value));
    }
    if (option.path == "latency.lookup" && !scenario.deployment.latency.settings.empty()) {
      MapBuilder settings;
      for (const auto& [key, value] : scenario.deployment.latency.settings) {
        settings.add(key, value);
      }
      top.add(kLatencySet, settings.build());
    }
  }
  MapBuilder patches;
  for (const auto& patch : scenario.deployment.patches) {
    patches.add(fmt::format("{}.{}", patch.target, patch.key), patch.value);
  }
  if (!patches.empty()) {
    top.add(kSet, patches.build());
  }
  if (!scenario.deployment.calibrated.is_null()) {
    top.add(kCalibrated, scenario.deployment.calibrated);
  }
  return top.finish();
}

}  // namespace ridgeline::scenario
