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

/// Plugins that change no choice here, or that our policies have built in (llm-d-router ebab687).
constexpr auto kBuiltIn = std::to_array<std::string_view>({"single-profile-handler",
                                                           "data-parallel-profile-handler",
                                                           "disagg-profile-handler",
                                                           "pd-profile-handler",
                                                           "disagg-headers-handler",
                                                           "prefill-header-handler",
                                                           "always-disagg-multimodal-decider",
                                                           "prefix-based-pd-decider",
                                                           "always-disagg-pd-decider",
                                                           "predicted-latency-producer",
                                                           "queue-producer",
                                                           "approx-prefix-cache-producer",
                                                           "inflight-load-producer",
                                                           "session-id-producer",
                                                           "token-producer",
                                                           "tokenizer",
                                                           "decode-filter",
                                                           "prefill-filter",
                                                           "encode-filter",
                                                           "request-attribute-reporter",
                                                           "agent-identity"});
/// Others of them, by how they end.
constexpr auto kBuiltInEnds =
    std::to_array<std::string_view>({"-data-source", "-source", "-extractor", "-parser"});
constexpr std::string_view kAffinityFilter = "prefix-cache-affinity-filter";
constexpr std::string_view kHeadroomFilter = "slo-headroom-tier-filter";
constexpr std::string_view kLatencyScorer = "latency-scorer";
constexpr std::string_view kApproximate = "approx-prefix-cache-producer";

/// A plugin of llm-d without a counterpart here, and why.
struct NotSimulated {
  std::string_view plugin;
  std::string_view why;
};
constexpr auto kNotSimulatedPlugins = std::to_array<NotSimulated>({
    {"topology-affinity-filter", "topology-affinity-scorer with a large weight prefers near ones"},
    {"burst-prefix-cache-producer", "by which rule it places those it held is not published"},
    {"no-hit-lru-scorer", "no profile here has it yet"},
    {"context-length-aware", "instances have no label for a range of lengths here"},
    {"by-label", "instances have no labels here"},
    {"by-label-selector", "instances have no labels here"},
    {"label-selector-filter", "instances have no labels here"},
    {"header-label-affinity", "requests have no headers here"},
    {"header-profile-handler", "requests have no headers here"},
    {"endpoint-attribute-filter", "instances have no attributes of their own here"},
    {"endpoint-attribute-scorer", "instances have no attributes of their own here"},
    {"mm-embeddings-cache-scorer", "caches of encoded images are not modelled"},
    {"mm-embeddings-cache-producer", "caches of encoded images are not modelled"},
    {"soft-reflective-ceiling-policy", "its ceiling is not modelled: --min-ceiling is a fixed one"},
});

/// A plugin of admission and flow control, and the setting that it is.
struct AdmissionPlugin {
  std::string_view plugin;
  std::string_view path;
  std::string_view value;
};
constexpr auto kAdmissionPlugins = std::to_array<AdmissionPlugin>({
    {"probabilistic-admitter", "cluster.admission.name", "probabilistic"},
    {"latency-slo-admitter", "cluster.admission.name", "latency-slo"},
    {"utilization-detector", "cluster.admission.saturation_detector", "utilization-detector"},
    {"concurrency-detector", "cluster.admission.saturation_detector", "concurrency-detector"},
    {"global-strict-fairness-policy", "cluster.admission.fairness_policy", "global-strict"},
    {"round-robin-fairness-policy", "cluster.admission.fairness_policy", "round-robin"},
    {"program-aware-fairness", "cluster.admission.fairness_policy", "program-aware"},
    {"fcfs-ordering-policy", "cluster.admission.dispatch_order", "fcfs"},
    {"edf-ordering-policy", "cluster.admission.dispatch_order", "edf"},
    {"slo-deadline-ordering-policy", "cluster.admission.dispatch_order", "slo-deadline"},
});

/// A parameter that has another name here; an empty path: it changes nothing that is modelled.
struct OtherName {
  std::string_view parameter;
  std::string_view path;
};
constexpr auto kOtherNames = std::to_array<OtherName>({
    {"queueDepthThreshold", "cluster.admission.queue_depth_threshold"},
    {"kvCacheUtilThreshold", "cluster.admission.kv_cache_util_threshold"},
    {"metricsStalenessThreshold", "cluster.admission.metrics_staleness_threshold"},
    {"maxConcurrency", "cluster.admission.max_concurrency_per_instance"},
    {"maxTokenConcurrency", "cluster.admission.max_token_concurrency"},
    {"concurrencyMode", "cluster.admission.concurrency_mode"},
    {"blockSize", "cluster.router.blockSizeTokens"},
    {"explorationProbability", ""},
    {"ttftSource", ""},
    {"maxPrefixBlocksToMatch", ""},
    {"prefixMatchInfoProducerName", ""},
    {"requestTimeout", ""},
    {"maxNumOfEndpoints", ""},
    {"strategy", ""},
    {"headers", ""},
});
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
  core::Result<Imported> run(const Node& document) {
    document::ObjectReader top(document, "", errors_);
    for (const std::string_view ignored : {"apiVersion", "metadata"}) {
      static_cast<void>(top.node(ignored));
    }
    if (const auto kind = top.string("kind"); kind && *kind != kKind) {
      top.problem("kind", fmt::format("found {}, expected {}", *kind, kKind));
    }
    for (const std::string_view ignored : {"data", "dataLayer", "parser", "requestHandler"}) {
      static_cast<void>(top.node(ignored));  // Which source feeds which reader.
    }
    if (const Node* plugins = top.node("plugins"); plugins != nullptr && plugins->is_list()) {
      for (const Node& plugin : plugins->items()) {
        read_plugin(plugin);
      }
    }
    read_flow_control(top);
    choose_profile(top, document);
    read_autotune();
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
    if (!passed_.empty()) {
      warnings_.push_back({.code = "W-not-modelled",
                           .message = fmt::format("{}: no part of a choice here, passed over",
                                                  fmt::join(passed_, ", "))});
    }
    return Imported{.overrides = std::move(overrides_), .warnings = std::move(warnings_)};
  }

 private:
  /// The profile that serves: the only one, or that of decode. What prefill does apart is the
  /// run's own setting.
  void choose_profile(document::ObjectReader& top, const Node& document) {
    const Node* profiles = top.node("schedulingProfiles");
    std::optional<Node> chosen;
    std::vector<std::string> others;
    for (const Node& profile :
         profiles != nullptr && profiles->is_list() ? profiles->items() : std::vector<Node>()) {
      const Node* name = profile.find("name");
      const std::string text = name != nullptr && name->is_string() ? name->as_string() : "";
      if (profiles->items().size() == 1 || text == "decode") {
        chosen = profile;
      } else {
        others.push_back(text);
      }
    }
    if (!chosen) {
      errors_.push_back({.field = "schedulingProfiles",
                         .message = "expected one profile",
                         .where = profiles == nullptr ? document.where() : profiles->where(),
                         .hint = "or the profiles prefill and decode"});
      return;
    }
    read_profile(*chosen);
    if (!others.empty()) {
      warnings_.push_back(
          {.code = "W-not-modelled",
           .message = fmt::format("the profile {} is not read: requests are served by that of "
                                  "decode, and --prefill-instances and --non-cached-tokens say "
                                  "which of them prefill apart",
                                  fmt::join(others, ", "))});
    }
  }

  /// featureGates, flowControl and saturationDetector.
  void read_flow_control(document::ObjectReader& top) {
    const Node* gates = top.node("featureGates");
    for (const Node& gate :
         gates != nullptr && gates->is_list() ? gates->items() : std::vector<Node>()) {
      if (gate.is_string() && gate.as_string() == "flowControl") {
        overrides_.push_back({.path = "cluster.admission.flow_control", .text = "true"});
      }
    }
    const Node* flow = top.node("flowControl");
    for (const Node* node : {top.node("saturationDetector"), flow}) {
      if (node != nullptr && node->is_map()) {
        read_flow(*node);
      }
    }
  }

  /// Members that name plugins, or that are limits of a band.
  void read_flow(const Node& flow) {
    constexpr auto kSettings = std::to_array<OtherName>({
        {"defaultRequestTTL", "cluster.admission.request_ttl"},
        {"maxBytes", "cluster.admission.per_band_bytes"},
        {"maxRequests", "cluster.admission.per_band_requests"},
    });
    for (const Node::Member& member : flow.members()) {
      const auto* const setting = std::ranges::find(kSettings, member.key, &OtherName::parameter);
      if (member.key.ends_with("Ref") && member.value.is_string()) {
        if (std::ranges::find(plugins_, member.value.as_string(), &Plugin::name) ==
            plugins_.end()) {
          use_admission(member.value.as_string(), member.where);
        }
      } else if (member.value.is_map()) {
        read_flow(member.value);
      } else if (setting != kSettings.end()) {
        overrides_.push_back({.path = std::string(setting->path), .text = flow_text(member.value)});
      } else {
        errors_.push_back({.field = fmt::format("flowControl.{}", member.key),
                           .message = "this parameter is not modelled",
                           .where = member.where});
      }
    }
  }

  bool use_admission(std::string_view type, const core::Location& where) {
    const auto* const row = std::ranges::find(kAdmissionPlugins, type, &AdmissionPlugin::plugin);
    if (row == kAdmissionPlugins.end()) {
      unknown({.name = std::string(type), .type = std::string(type), .where = where});
      return false;
    }
    overrides_.push_back({.path = std::string(row->path), .text = std::string(row->value)});
    return true;
  }

  /// The approximate prefix cache takes the servers' block and as many as they have, unless it is
  /// asked not to.
  void read_autotune() {
    const bool reads_prefix = std::ranges::any_of(overrides_, [](const Override& one) {
      return one.path == "cluster.router.scorers" && one.text.starts_with(kPrefixScorer);
    });
    if (sees_events_ || !(reads_prefix || is_sticky_)) {
      return;
    }
    bool is_tuned = true;
    for (const Plugin& plugin : plugins_) {
      const Node* tunes =
          plugin.parameters == nullptr ? nullptr : plugin.parameters->find("autoTune");
      if ((plugin.type == kApproximate || plugin.type == kPrefixScorer) && tunes != nullptr &&
          tunes->kind() == Node::Kind::kBool) {
        is_tuned = tunes->as_bool();
      }
    }
    if (is_tuned) {
      overrides_.push_back({.path = "cluster.router.autoTune", .text = "true"});
    }
  }

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
    const bool is_admission =
        std::ranges::find(kAdmissionPlugins, plugin.type, &AdmissionPlugin::plugin) !=
        kAdmissionPlugins.end();
    const bool known =
        routing::find_scorer(plugin.type) != nullptr || has(routing::pickers(), plugin.type) ||
        is_built_in(plugin.type) || has(kPrecise, plugin.type) || plugin.type == kAffinityFilter ||
        routing::find_filter(plugin.type) != nullptr || plugin.type == kHeadroomFilter;
    if (is_admission) {
      use_admission(plugin.type, plugin.where);
    } else if (!known && !plugin.type.empty() && !is_chosen_by_profile(plugin.type)) {
      unknown(plugin);
    }
    sees_events_ = sees_events_ || has(kPrecise, plugin.type);
    read_parameters(plugin);
    check_filter(plugin);
    plugins_.push_back(std::move(plugin));
  }

  /// One that is not simulated, and that only a profile which names it uses.
  static bool is_chosen_by_profile(std::string_view type) {
    return (type.ends_with("-filter") || type.ends_with("-scorer")) &&
           std::ranges::find(kNotSimulatedPlugins, type, &NotSimulated::plugin) !=
               kNotSimulatedPlugins.end();
  }

  static bool is_built_in(std::string_view type) {
    return has(kBuiltIn, type) || std::ranges::any_of(kBuiltInEnds, [&](std::string_view end) {
             return type.ends_with(end);
           });
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
    // Those of the built-in ones, but for the prefix cache's, only name what feeds them.
    const bool is_passed = is_chosen_by_profile(plugin.type) ||
                           (is_built_in(plugin.type) && plugin.type != kApproximate) ||
                           has(kPrecise, plugin.type);
    if (is_passed) {
      for (const Node::Member& member : plugin.parameters->members()) {
        passed_.push_back(fmt::format("plugins.{}.{}", plugin.type, member.key));
      }
      return;
    }
    for (const Node::Member& member : plugin.parameters->members()) {
      const auto* const other = std::ranges::find(kOtherNames, member.key, &OtherName::parameter);
      const std::string path = other != kOtherNames.end()
                                   ? std::string(other->path)
                                   : fmt::format("cluster.router.{}", member.key);
      if (member.key == "autoTune") {
        continue;  // read_autotune()
      }
      if (path.empty()) {
        passed_.push_back(fmt::format("plugins.{}.{}", plugin.type, member.key));
      } else if (find_option(path) != nullptr) {
        overrides_.push_back({.path = path, .text = flow_text(member.value)});
      } else {
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

  static std::string_view scorer_of(const Plugin& plugin) {
    return has(kPrecise, plugin.type) ? kPrefixScorer : std::string_view(plugin.type);
  }

  void use(const Plugin& plugin, double weight) {
    if (is_chosen_by_profile(plugin.type)) {
      unknown(plugin);
      return;
    }
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
    } else if (!is_built_in(plugin.type) && routing::find_scorer(scorer_of(plugin)) != nullptr) {
      const std::string_view scorer = scorer_of(plugin);
      overrides_.push_back(
          {.path = "cluster.router.scorers", .text = fmt::format("{}={}", scorer, weight)});
    }
  }

  core::Errors errors_;
  core::Warnings warnings_;
  std::vector<std::string> passed_;  ///< Parameters that change nothing here.
  std::vector<Plugin> plugins_;
  std::vector<Override> overrides_;
  bool is_sticky_ = false;
  bool predicts_ = false;
  bool sees_events_ = false;
};

}  // namespace

core::Result<Imported> overrides_of_epp_config(const Node& document) {
  return EppImporter().run(document);
}

}  // namespace ridgeline::scenario
