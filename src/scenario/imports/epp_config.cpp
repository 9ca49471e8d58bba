#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "routing/filter_registry.hpp"
#include "routing/profile.hpp"
#include "routing/registry.hpp"
#include "routing/scorers/registry.hpp"
#include "scenario/imports/imports.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using document::Node;

/// Plugins without a part in the choice here, or that our policies have built in.
constexpr std::array<std::string_view, 9> kBuiltIn = {"single-profile-handler",
                                                      "predicted-latency-producer",
                                                      "queue-producer",
                                                      "approx-prefix-cache-producer",
                                                      "inflight-load-producer",
                                                      "metrics-data-source",
                                                      "core-metrics-extractor",
                                                      "openai-parser",
                                                      "decode-filter"};
constexpr std::string_view kAffinityFilter = "prefix-cache-affinity-filter";
constexpr std::string_view kHeadroomFilter = "slo-headroom-tier-filter";
constexpr std::string_view kLatencyScorer = "latency-scorer";
constexpr std::string_view kApartHint =
    "prefill and decode apart are cluster.disaggregation, as --prefill-instances";
/// A plugin of llm-d without a counterpart here, and why.
struct NotSimulated {
  std::string_view plugin;
  std::string_view why;
};
constexpr auto kNotSimulatedPlugins = std::to_array<NotSimulated>({
    {"topology-affinity-filter", "topology-affinity-scorer with a large weight prefers near ones"},
    {"burst-prefix-cache-producer", "by which rule it places those it held is not published"},
    {"pd-profile-handler", kApartHint},
    {"prefill-filter", kApartHint},
    {"prefill-header-handler", kApartHint},
});
/// Keys of the whole that are other settings here.
struct OtherSetting {
  std::string_view key;
  std::string_view setting;
};
constexpr auto kOtherSettings = std::to_array<OtherSetting>(
    {{"featureGates", "cluster.admission, as --flow-control"},
     {"saturationDetector", "cluster.admission, as --saturation-detector"}});
constexpr std::string_view kKind = "EndpointPickerConfig";
/// Those that follow KV events.
constexpr std::array<std::string_view, 2> kPrecise = {"precise-prefix-cache-scorer",
                                                      "precise-prefix-cache-producer"};
constexpr std::string_view kPrefixScorer = "prefix-cache-scorer";

template <class List>
bool has(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != list.end();
}

struct Plugin {
  std::string name;
  std::string type;
  const Node* parameters = nullptr;
  core::Location where;
};

class EppImporter {
 public:
  core::Result<std::vector<Override>> run(const Node& document) {
    document::ObjectReader top(document, "", errors_);
    for (const std::string_view ignored : {"apiVersion", "metadata"}) {
      static_cast<void>(top.node(ignored));
    }
    if (const auto kind = top.string("kind"); kind && *kind != kKind) {
      top.problem("kind", fmt::format("found {}, expected {}", *kind, kKind));
    }
    for (const OtherSetting& other : kOtherSettings) {
      if (top.node(other.key) != nullptr) {
        top.problem(
            other.key, "is not read here", fmt::format("leave it out: it is {}", other.setting));
      }
    }
    if (const Node* plugins = top.node("plugins"); plugins != nullptr && plugins->is_list()) {
      for (const Node& plugin : plugins->items()) {
        read_plugin(plugin);
      }
    }
    const Node* profiles = top.node("schedulingProfiles");
    if (profiles == nullptr || !profiles->is_list() || profiles->items().size() != 1) {
      errors_.push_back({.field = "schedulingProfiles",
                         .message = "expected one profile",
                         .where = profiles == nullptr ? document.where() : profiles->where(),
                         .hint = "prefill and decode profiles are cluster.disaggregation"});
    } else {
      read_profile(profiles->items().front());
    }
    top.finish();
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    const bool precise = sees_events_;
    overrides_.insert(overrides_.begin(),
                      {.path = "cluster.router.name",
                       .text = precise      ? "llm-d-precise"
                               : predicts_  ? "llm-d-latency"
                               : is_sticky_ ? "llm-d-sticky"
                                            : "llm-d"});
    return std::move(overrides_);
  }

 private:
  void read_plugin(const Node& node) {
    document::ObjectReader reader(node, "plugins", errors_);
    Plugin plugin;
    plugin.type = reader.required_string("type");
    plugin.where = node.where();
    plugin.name = reader.string("name").value_or(plugin.type);
    plugin.parameters = reader.node("parameters");
    reader.finish();
    if (std::ranges::find(plugins_, plugin.name, &Plugin::name) != plugins_.end()) {
      errors_.push_back({.field = fmt::format("plugins.{}", plugin.name),
                         .message = "listed twice",
                         .where = plugin.where,
                         .hint = "a name of its own for each"});
    }
    const bool known = routing::find_scorer(plugin.type) != nullptr ||
                       has(routing::pickers(), plugin.type) || has(kBuiltIn, plugin.type) ||
                       has(kPrecise, plugin.type) || plugin.type == kAffinityFilter ||
                       routing::find_filter(plugin.type) != nullptr ||
                       plugin.type == kHeadroomFilter;
    if (!known && !plugin.type.empty()) {
      unknown(plugin);
    }
    sees_events_ = sees_events_ || has(kPrecise, plugin.type);
    read_parameters(plugin);
    check_filter(plugin);
    plugins_.push_back(std::move(plugin));
  }

  void unknown(const Plugin& plugin) {
    const auto* const known =
        std::ranges::find(kNotSimulatedPlugins, plugin.type, &NotSimulated::plugin);
    if (known != kNotSimulatedPlugins.end()) {
      errors_.push_back({.field = fmt::format("plugins.{}", plugin.type),
                         .message = "is not simulated",
                         .where = plugin.where,
                         .hint = fmt::format("leave it out: {}", known->why)});
      return;
    }
    std::vector<std::string> names;
    for (const routing::ScorerEntry& scorer : routing::scorers()) {
      names.emplace_back(scorer.name);
    }
    const auto meant = document::nearest(plugin.type, names);
    errors_.push_back({.field = fmt::format("plugins.{}", plugin.type),
                       .message = "no such plugin here",
                       .where = plugin.where,
                       .hint = meant ? fmt::format("did you mean '{}'?", *meant)
                                     : "`ridgeline schema scenario`: cluster.router"});
  }

  /// Those of llm-d's policies, in its own spelling.
  static std::vector<std::string_view> parameter_names() {
    constexpr std::string_view kRouter = "cluster.router.";
    std::vector<std::string_view> names;
    for (const Option& option : options()) {
      const std::string_view path = option.path;
      if (path.starts_with(kRouter) &&
          std::ranges::any_of(path, [](char c) { return c >= 'A' && c <= 'Z'; })) {
        names.push_back(path.substr(kRouter.size()));
      }
    }
    return names;
  }

  /// Parameters of the same name are the policy's.
  void read_parameters(const Plugin& plugin) {
    if (plugin.parameters == nullptr || !plugin.parameters->is_map() ||
        routing::find_filter(plugin.type) != nullptr) {
      return;  // A filter's go with it (use()).
    }
    for (const Node::Member& member : plugin.parameters->members()) {
      const std::string path = fmt::format("cluster.router.{}", member.key);
      const bool quiet = member.key == "autoTune" || member.key == "explorationProbability" ||
                         member.key == "ttftSource";
      if (find_option(path) != nullptr) {
        overrides_.push_back({.path = path, .text = flow_text(member.value)});
      } else if (!quiet) {
        errors_.push_back({.field = fmt::format("plugins.{}.{}", plugin.type, member.key),
                           .message = "no such parameter here",
                           .where = member.where,
                           .hint = fmt::format("one of {}", fmt::join(parameter_names(), ", "))});
      }
    }
  }

  /// A filter's settings at their place in the file: as a setting of the run they have none.
  void check_filter(const Plugin& plugin) {
    const routing::FilterEntry* const entry = routing::find_filter(plugin.type);
    if (entry != nullptr && plugin.parameters != nullptr) {
      document::ObjectReader reader(
          *plugin.parameters, fmt::format("plugins.{}.parameters", plugin.name), errors_);
      routing::NamedFilter filter{.name = plugin.type};
      read_filter_settings(reader, *entry, filter, errors_);
    }
  }

  void read_profile(const Node& node) {
    document::ObjectReader reader(node, "schedulingProfiles", errors_);
    static_cast<void>(reader.string("name"));
    const Node* refs = reader.node("plugins");
    reader.finish();
    if (refs == nullptr || !refs->is_list()) {
      return;
    }
    for (const Node& ref : refs->items()) {
      document::ObjectReader one(ref, "schedulingProfiles.plugins", errors_);
      const std::string name = one.required_string("pluginRef");
      const double weight = one.real("weight", {.lowest = 0.0}).value_or(1.0);
      one.finish();
      const auto plugin = std::ranges::find(plugins_, name, &Plugin::name);
      if (plugin == plugins_.end()) {
        errors_.push_back({.field = "schedulingProfiles.plugins.pluginRef",
                           .message = fmt::format("no plugin is called '{}'", name),
                           .where = ref.where()});
      } else {
        use(*plugin, weight);
      }
    }
  }

  void use(const Plugin& plugin, double weight) {
    predicts_ = predicts_ || plugin.type == kLatencyScorer || plugin.type == kHeadroomFilter;
    if (plugin.type == kAffinityFilter) {
      is_sticky_ = true;
    } else if (plugin.type == kHeadroomFilter) {
      return;  // llm-d-latency has it.
    } else if (routing::find_filter(plugin.type) != nullptr) {
      std::string text = fmt::format("{{name: {}", plugin.type);
      if (plugin.parameters != nullptr && plugin.parameters->is_map()) {
        for (const Node::Member& member : plugin.parameters->members()) {
          text += fmt::format(", {}: {}", member.key, flow_text(member.value));
        }
      }
      overrides_.push_back({.path = "cluster.router.filters", .text = text + "}"});
    } else if (has(routing::pickers(), plugin.type)) {
      overrides_.push_back({.path = "cluster.router.picker", .text = plugin.type});
    } else if (!has(kBuiltIn, plugin.type)) {
      const std::string_view scorer = has(kPrecise, plugin.type) ? kPrefixScorer : plugin.type;
      overrides_.push_back(
          {.path = "cluster.router.scorers", .text = fmt::format("{}={}", scorer, weight)});
    }
  }

  core::Errors errors_;
  std::vector<Plugin> plugins_;
  std::vector<Override> overrides_;
  bool is_sticky_ = false;
  bool predicts_ = false;
  bool sees_events_ = false;
};

}  // namespace

core::Result<std::vector<Override>> overrides_of_epp_config(const Node& document) {
  return EppImporter().run(document);
}

}  // namespace ridgeline::scenario
