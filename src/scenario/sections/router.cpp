#include "scenario/sections/router.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "engine/profiles.hpp"
#include "routing/filter_registry.hpp"
#include "routing/parameters.hpp"
#include "routing/profile.hpp"
#include "routing/registry.hpp"
#include "routing/scorers/registry.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/findings.hpp"
#include "scenario/named_options.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/pools.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kRouterName = "cluster.router.name";
constexpr std::string_view kScorers = "cluster.router.scorers";
constexpr std::string_view kFilterList = "cluster.router.filters";
constexpr std::string_view kPicker = "cluster.router.picker";
constexpr std::string_view kRouterEventsDelay = "cluster.gateway.kv_events_delay";

const NamedOptions& parameter_options() {
  static const NamedOptions kOptions = [] {
    std::vector<NamedTable> tables;
    for (const routing::RouterEntry& router : routing::routers()) {
      tables.push_back({.name = router.name, .parameters = router.table()});
    }
    return NamedOptions("cluster.router", tables, [](RunSettings& r, std::string_view key) -> Slot {
      return NamedSlot{.values = &r.cluster.router.parameters, .name = key};
    });
  }();
  return kOptions;
}

std::vector<Option> make_router_options() {
  // clang-format off
  std::vector<Option> all = {
      {.path = kRouterName, .flag = "router", .unset = "round-robin",
       .help = "The gateway's routing policy (see `ridgeline list routers`)", .example = "least-request",
       .slot = [](RunSettings& r) -> Slot { return &r.cluster.router.name; }},
      {.path = kScorers, .flag = "scorer", .unset = "the policy's own",
       .help = "Scorers and their weights, of a policy that has some", .example = "{queue-scorer: 2, prefix-cache-scorer: 3}",
       .shape = Option::Shape::kPairs,
       .slot = [](RunSettings& r) -> Slot { return &r.cluster.router.scorers; }},
      {.path = kFilterList, .flag = "filter", .unset = "the policy's own",
       .help = "Filters before the policy's own, in their order: session-affinity-filter, utilization-filter with its conditions",
       .example = "{name: utilization-filter, conditions: [{metric: waiting-queue, maxValue: 10}]}",
       .shape = Option::Shape::kItems,
       .slot = [](RunSettings& r) -> Slot { return &r.cluster.router.filters; }},
      {.path = kPicker, .flag = "picker", .choices = routing::pickers(), .unset = "the policy's own",
       .help = "How such a policy chooses by the scores", .example = "max-score-picker",
       .slot = [](RunSettings& r) -> Slot { return &r.cluster.router.picker; }},
  };
  // clang-format on
  const std::vector<Option>& parameters = parameter_options().all();
  all.insert(all.end(), parameters.begin(), parameters.end());
  return all;
}

core::Error at_member(const document::Node::Member& member, std::string message, std::string hint) {
  return {.field = fmt::format("{}.{}", kScorers, member.key),
          .message = std::move(message),
          .where = member.where,
          .hint = std::move(hint)};
}

void check_scorer(const document::Node::Member& member, core::Errors& errors) {
  if (routing::find_scorer(member.key) == nullptr) {
    std::vector<std::string> names;
    for (const routing::ScorerEntry& entry : routing::scorers()) {
      names.emplace_back(entry.name);
    }
    const auto meant = document::nearest(member.key, names);
    errors.push_back(at_member(member,
                               "no such scorer",
                               meant ? fmt::format("did you mean '{}'?", *meant)
                                     : fmt::format("one of {}", fmt::join(names, ", "))));
  }
  if (!member.value.is_number() || member.value.as_real() < 0.0) {
    errors.push_back(
        at_member(member,
                  fmt::format("found {}, expected a weight of 0 or more", member.value.describe()),
                  "2"));
  }
}

std::string filter_names() {
  std::vector<std::string_view> names;
  for (const routing::FilterEntry& entry : routing::filters()) {
    names.push_back(entry.name);
  }
  return fmt::format("one of {}", fmt::join(names, ", "));
}

/// Filters of llm-d that are built into a policy, or have no rule that is published.
struct OtherFilter {
  std::string_view name;
  std::string_view instead;
};
constexpr auto kOtherFilters = std::to_array<OtherFilter>({
    {"prefix-cache-affinity-filter", "--router llm-d-sticky has it"},
    {"slo-headroom-tier-filter", "--router llm-d-latency has it"},
    {"topology-affinity-filter", "topology-affinity-scorer with a large weight prefers near ones"},
    {"decode-filter", "cluster.disaggregation says which instances decode"},
    {"prefill-filter", "cluster.disaggregation says which instances compute prompts"},
});

core::Error no_such_filter(const std::string& name,
                           const std::string& path,
                           const document::Node& node) {
  const auto* const other = std::ranges::find(kOtherFilters, name, &OtherFilter::name);
  if (other != kOtherFilters.end()) {
    return {.field = path,
            .message = fmt::format("'{}' is no filter of its own here", name),
            .where = node.where(),
            .hint = std::string(other->instead)};
  }
  std::vector<std::string> names;
  for (const routing::FilterEntry& entry : routing::filters()) {
    names.emplace_back(entry.name);
  }
  const auto meant = document::nearest(name, names);
  return {.field = path,
          .message = fmt::format("no filter '{}'", name),
          .where = node.where(),
          .hint = meant ? fmt::format("did you mean '{}'?", *meant) : filter_names()};
}

std::vector<routing::UtilizationLimit> read_limits(document::ObjectReader& reader,
                                                   core::Errors& errors) {
  constexpr document::Range<double> kCounts{.lowest = 0.0, .highest = 1e9};
  constexpr document::Range<double> kShares{.lowest = 0.0, .highest = 1.0};
  static const std::vector<std::string> kMetrics = [] {
    std::vector<std::string> names;
    for (const auto& [name, metric] : routing::kUtilizationMetrics) {
      names.emplace_back(name);
    }
    return names;
  }();
  std::vector<routing::UtilizationLimit> limits;
  const document::Node* conditions = reader.node("conditions");
  if (conditions == nullptr || !conditions->is_list() || conditions->items().empty()) {
    reader.problem("conditions",
                   "expected a list of metrics and their highest values",
                   "[{metric: waiting-queue, maxValue: 10}]");
    return limits;
  }
  for (std::size_t i = 0; i < conditions->items().size(); ++i) {
    document::ObjectReader one(
        conditions->items()[i], fmt::format("{}[{}]", reader.path_of("conditions"), i), errors);
    const auto metric = one.choice("metric", kMetrics);
    const auto found = std::ranges::find(kMetrics, metric.value_or(""));
    if (!metric && one.node("metric") == nullptr) {
      one.problem("metric", "missing", fmt::format("one of {}", fmt::join(kMetrics, ", ")));
    }
    if (found != kMetrics.end()) {
      const auto place = static_cast<std::size_t>(found - kMetrics.begin());
      const routing::Utilization what = routing::kUtilizationMetrics[place].second;
      const bool is_share = what == routing::Utilization::kKvUsage;
      limits.push_back(
          {.metric = what, .highest = one.required_real("maxValue", is_share ? kShares : kCounts)});
    } else {
      static_cast<void>(one.node("maxValue"));
    }
    one.finish();
  }
  return limits;
}

/// One filter: its name, or a map of its name and settings.
routing::NamedFilter read_filter(const document::Node& node,
                                 const std::string& path,
                                 core::Errors& errors) {
  routing::NamedFilter filter;
  if (node.is_string()) {
    filter.name = node.as_string();
  }
  std::optional<document::ObjectReader> reader;
  if (!node.is_string()) {
    reader.emplace(node, path, errors);
    filter.name = reader->required_string("name");
  }
  const routing::FilterEntry* entry = routing::find_filter(filter.name);
  if (entry == nullptr) {
    if (!filter.name.empty()) {
      errors.push_back(no_such_filter(filter.name, path, node));
    }
    return filter;
  }
  if (entry->has_limits && !reader) {
    errors.push_back({.field = path,
                      .message = fmt::format("{} without its conditions", filter.name),
                      .where = node.where(),
                      .hint = "{name: utilization-filter, conditions: [{metric: waiting-queue, "
                              "maxValue: 10}]}"});
  } else if (reader) {
    read_filter_settings(*reader, *entry, filter, errors);
  }
  return filter;
}

std::vector<routing::NamedFilter> read_filters(const std::optional<document::Node>& node,
                                               core::Errors& errors) {
  std::vector<routing::NamedFilter> filters;
  if (!node) {
    return filters;
  }
  if (!node->is_list()) {
    errors.push_back({.field = std::string(kFilterList),
                      .message = fmt::format("found {}, expected a list", node->describe()),
                      .where = node->where(),
                      .hint = "[session-affinity-filter]"});
    return filters;
  }
  for (std::size_t i = 0; i < node->items().size(); ++i) {
    const std::string path = fmt::format("{}[{}]", kFilterList, i);
    filters.push_back(read_filter(node->items()[i], path, errors));
    const auto same = std::ranges::count(filters, filters.back().name, &routing::NamedFilter::name);
    if (same > 1) {
      errors.push_back({.field = path,
                        .message = fmt::format("{} given twice", filters.back().name),
                        .where = node->items()[i].where()});
    }
  }
  return filters;
}

/// The policies that have a parameter of that name.
std::string policies_with(std::string_view parameter) {
  std::vector<std::string_view> names;
  for (const routing::RouterEntry& router : routing::routers()) {
    if (std::ranges::find(router.table(), parameter, &routing::Parameter::name) !=
        router.table().end()) {
      names.push_back(router.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_parameters(const routing::RouterEntry& router, Findings& findings) {
  for (const routing::NamedValue& value : findings.scenario().run.cluster.router.parameters) {
    if (std::ranges::find(router.table(), value.name, &routing::Parameter::name) ==
        router.table().end()) {
      findings.problem(fmt::format("cluster.router.{}", value.name),
                       fmt::format("is no parameter of {}", router.name),
                       fmt::format("of {}", policies_with(value.name)));
    }
  }
}

/// What is served: the scenario's own deployment, or that of each pool.
std::vector<EngineSection> engines_of(const Scenario& scenario) {
  const auto pools = read_pools(scenario.run.cluster, scenario.deployment);
  if (!pools || pools->empty()) {
    return {scenario.deployment.engine};  // check_pools() reports pools that cannot be read.
  }
  std::vector<EngineSection> engines;
  for (const PoolSection& pool : *pools) {
    engines.push_back(pool.deployment.engine);
  }
  return engines;
}

/// A policy that follows KV events needs engines that publish some, and late ones need engines
/// whose cache of a moment ago is still known.
void check_kv_events(std::string_view router, Findings& findings) {
  const std::vector<EngineSection> engines = engines_of(findings.scenario());
  const auto silent = std::ranges::find_if_not(engines, caches_prefixes);
  if (silent != engines.end()) {
    const std::string key = own_key(*silent, "enable_prefix_caching");
    findings.problem(
        kRouterName,
        fmt::format("the policy {} follows KV events, and without prefix caching there are none",
                    router),
        key.starts_with("disable") ? fmt::format("without --{}", flag_word(key))
                                   : fmt::format("--{}", flag_word(key)));
    return;
  }
  const auto without_past = std::ranges::find_if(engines, has_own_settings);
  const auto& delay = findings.scenario().run.cluster.gateway.kv_events_delay;
  if (without_past != engines.end() && delay != core::Duration()) {
    findings.problem(delay ? kRouterEventsDelay : kRouterName,
                     fmt::format("KV events that come late are not modelled for {} yet, whose "
                                 "caches {} follows",
                                 without_past->version,
                                 router),
                     "--kv-events-delay 0ms");
  }
}

/// vLLM's balancers by the first profile that has one. Of #47420 (2026-07-06) and the one after it
/// the dates are known, not the releases: these are the profiles that follow them.
struct BalancerGeneration {
  std::string_view since;
  std::string_view router;
};
constexpr auto kBalancers = std::to_array<BalancerGeneration>({
    {"vllm@0.8", "vllm-dp@fixed-start"},
    {"vllm@0.24", "vllm-dp@rotating-start"},
    {"vllm@0.27", "vllm-dp"},
});

}  // namespace

void read_filter_settings(document::ObjectReader& reader,
                          const routing::FilterEntry& entry,
                          routing::NamedFilter& filter,
                          core::Errors& errors) {
  if (entry.has_limits) {
    filter.limits = read_limits(reader, errors);
    filter.all_if_empty = reader.boolean("fallbackOnEmpty").value_or(filter.all_if_empty);
  }
  reader.finish();
}

std::optional<std::string> rank_router(std::string_view engine_version) {
  const auto profile = engine::find_profile(engine_version);
  if (!profile) {
    return std::nullopt;
  }
  std::optional<std::string> router;
  for (const engine::Profile& older : engine::profiles()) {
    const auto* const generation =
        std::ranges::find(kBalancers, older.name, &BalancerGeneration::since);
    if (generation != kBalancers.end()) {
      router = std::string(generation->router);
    }
    if (older.name == profile->name) {
      return router;
    }
  }
  return std::nullopt;
}

core::Result<routing::RouterSetup> router_setup(const RouterSection& router) {
  routing::RouterSetup setup{.parameters = router.parameters, .picker = router.picker.value_or("")};
  core::Errors errors;
  double sum = 0.0;
  if (router.scorers) {
    for (const document::Node::Member& member : router.scorers->members()) {
      check_scorer(member, errors);
      if (std::ranges::find(setup.scorers, member.key, &routing::NamedWeight::name) !=
          setup.scorers.end()) {
        errors.push_back(at_member(member, "given twice", ""));
      }
      const double weight = member.value.is_number() ? member.value.as_real() : 0.0;
      setup.scorers.push_back({.name = member.key, .weight = weight});
      sum += weight;
    }
    if (errors.empty() && sum <= 0.0) {
      errors.push_back({.field = std::string(kScorers),
                        .message = "no scorer has a weight above 0",
                        .where = router.scorers->where()});
    }
  }
  setup.filters = read_filters(router.filters, errors);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return setup;
}

bool reads_sites(const RouterSection& router) {
  const auto setup = router_setup(router);
  return setup && std::ranges::any_of(setup->scorers, [](const routing::NamedWeight& scorer) {
           return routing::find_scorer(scorer.name)->reads_sites;
         });
}

std::span<const Option> router_options() {
  static const std::vector<Option> kOptions = make_router_options();
  return kOptions;
}

void check_router(Findings& findings) {
  const ClusterSection& cluster = findings.scenario().run.cluster;
  if (!cluster.instances) {
    return;
  }
  if (auto setup = router_setup(cluster.router); !setup) {
    for (core::Error& error : setup.error()) {
      findings.errors().push_back(std::move(error));
    }
  }
  const auto router = routing::find_router(router_name(cluster.router));
  if (!router) {
    const core::Error& error = router.error().front();
    findings.problem(kRouterName, error.message, error.hint);
    return;
  }
  for (const std::string_view path : {kScorers, kPicker, kFilterList}) {
    if (findings.given(path) && !(*router)->profile) {
      findings.ignored(path,
                       fmt::format("the policy {} has no {}",
                                   (*router)->name,
                                   path == kFilterList ? "filters" : "scorers"));
    }
  }
  if (reads_sites(cluster.router) && !cluster.disaggregation.prefill_instances) {
    findings.problem(kScorers,
                     "topology-affinity-scorer compares a request's two instances, and without "
                     "cluster.disaggregation.prefill_instances it has one",
                     "--prefill-instances 1");
  }
  check_parameters(**router, findings);
  const auto setup = router_setup(cluster.router);
  if (setup && (*router)->make(*setup)->needs().cache) {
    check_kv_events((*router)->name, findings);
  }
}

}  // namespace ridgeline::scenario
