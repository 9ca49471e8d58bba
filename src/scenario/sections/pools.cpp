#include "scenario/sections/pools.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/scaling/metric.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "routing/registry.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/findings.hpp"
#include "scenario/option_reader.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/sections/router.hpp"
#include "scenario/sections/sections.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kPools = "cluster.pools";
constexpr std::string_view kSpreadPath = "cluster.spread";
constexpr std::string_view kEngineSection = "engine";
constexpr const char* kOnePool = "{name: fast, instances: 4, gpu: h100}";
constexpr const char* kPoolExample = "pools: [{name: fast, instances: 4, gpu: h100}]";
constexpr double kMaxPoolSpread = 1.0;
constexpr document::Range<std::int64_t> kPoolInstances{.lowest = 1, .highest = kMaxInstances};
constexpr document::Range<double> kPoolWeights{.lowest = 1e-3, .highest = 1e3};
constexpr document::Range<double> kPoolSpreads{.lowest = 0.0, .highest = kMaxPoolSpread};
constexpr document::Range<std::int64_t> kPoolFewest{.lowest = 0, .highest = kMaxInstances};
constexpr document::Range<double> kPoolTargets{.lowest = 1e-6, .highest = 1e9};
constexpr document::Range<double> kPoolPrices{.lowest = 0.0, .highest = 1e9};

// clang-format off
constexpr auto kPoolOptions = std::to_array<Option>({
    {.path = kPools, .flag = "pool", .unset = "cluster.instances that are alike",
     .help = "Instances that are alike: name, instances, models, adapters, weight, spread, price_per_hour, model, gpu, keys of engine (as a map `engine` of their own: then instances counts servers, each of all its data-parallel ranks), and its own of what cluster.autoscaling says for all: min_replicas, max_replicas, metric, target, replicas_at, cron",
     .example = "{name: big, instances: 2, gpu: h200, tensor_parallel_size: 2}", .shape = Option::Shape::kItems,
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.pools; }},
    {.path = kSpreadPath, .flag = "spread", .lowest = 0, .highest = kMaxPoolSpread, .unset = "0: all as the model says",
     .help = "How far apart instances are in speed: standard deviation of the logarithm of a factor on all step times, drawn for each", .example = "0.05",
     .slot = [](RunSettings& r) -> Slot { return &r.cluster.spread; }},
});
// clang-format on

std::optional<std::vector<std::string>> read_names(document::ObjectReader& reader,
                                                   std::string_view key) {
  const document::Node* const node = reader.node(key);
  if (node == nullptr || node->is_null()) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  const bool fits =
      node->is_list() && std::ranges::all_of(node->items(), [](const document::Node& item) {
        return item.is_string() && !item.as_string().empty();
      });
  if (!fits) {
    reader.problem(
        key, fmt::format("found {}, expected a list of names", node->describe()), "[chat, code]");
    return std::nullopt;
  }
  for (const document::Node& item : node->items()) {
    if (std::ranges::find(names, item.as_string()) != names.end()) {
      reader.problem(key, fmt::format("'{}' is listed twice", item.as_string()));
    }
    names.push_back(item.as_string());
  }
  return names;
}

/// Keys of a pool by the words of others.
constexpr auto kPoolWords = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"engine", "version: sglang, or a map of the engine's keys"},
    {"tp", "tensor_parallel_size"},
    {"tp_size", "tensor_parallel_size"},
    {"pp", "pipeline_parallel_size"},
    {"hardware", "gpu"},
    {"replicas", "instances"},
    {"count", "instances"},
    {"num_instances", "instances"},
    {"price", "price_per_hour"},
});

/// What an unknown key may have meant, where the reader found no near one; a key of the run is not
/// a pool's.
void add_hint(core::Error& error) {
  const std::string_view key = std::string_view(error.field).substr(error.field.rfind('.') + 1);
  const auto* const word =
      std::ranges::find(kPoolWords, key, &decltype(kPoolWords)::value_type::first);
  const auto option = std::ranges::find(options(), key, &Option::key);
  if (word != kPoolWords.end()) {
    error.hint = word->second;
  } else if (option != options().end()) {
    error.hint = fmt::format("`{}` is of all pools: {}", key, option->path);
  }
}

/// A pool with the members of its map `engine` beside the others.
document::Node without_engine(const document::Node& pool) {
  std::vector<document::Node::Member> members;
  for (const document::Node::Member& member : pool.members()) {
    if (member.key == kEngineSection) {
      members.insert(members.end(), member.value.members().begin(), member.value.members().end());
    } else {
      members.push_back(member);
    }
  }
  return document::Node::map(std::move(members), pool.where());
}

/// Instances of a pool that states its engine apart, where they count servers: each data-parallel
/// rank is an instance.
void count_ranks(PoolSection& pool) {
  pool.instances *= attention_ranks(pool.deployment.engine).ranks;
  std::vector<document::Node::Member> members = pool.node.members();
  for (document::Node::Member& member : members) {
    if (member.key == "instances") {
      member.value = document::Node::integer(pool.instances, member.value.where());
    }
  }
  pool.node = document::Node::map(std::move(members), pool.node.where());
}

PoolSection read_pool(const document::Node& written,
                      const std::string& path,
                      const DeploymentSection& deployment,
                      core::Errors& errors) {
  PoolSection pool;
  pool.deployment = deployment;
  const document::Node* const engine = written.is_map() ? written.find(kEngineSection) : nullptr;
  const bool counts_servers = engine != nullptr && engine->is_map();
  pool.node = counts_servers ? without_engine(written) : written;
  const document::Node node = pool.node;
  if (!node.is_map()) {
    errors.push_back({.field = path,
                      .message = fmt::format("found {}, expected a map", node.describe()),
                      .where = node.where(),
                      .hint = fmt::format("{}, as a flag: --pool '{}'", kPoolExample, kOnePool)});
    return pool;
  }
  const std::size_t before = errors.size();
  document::ObjectReader reader(node, path, errors);
  pool.name = reader.required_string("name");
  if (pool.name.empty() && errors.size() == before) {
    reader.problem("name", "is empty", "name: fast");
  }
  pool.instances = reader.required_integer("instances", kPoolInstances);
  const auto models = read_names(reader, "models");
  if (models && models->empty()) {
    reader.problem("models",
                   "is empty: no request could come",
                   "leave it out, and the pool serves its network by its own names");
  }
  pool.models = models.value_or(std::vector<std::string>());
  pool.adapters = read_names(reader, "adapters");
  pool.weight = reader.real("weight", kPoolWeights).value_or(pool.weight);
  pool.spread = reader.real("spread", kPoolSpreads);
  pool.price_per_hour = reader.real("price_per_hour", kPoolPrices);
  pool.min_replicas = reader.integer("min_replicas", kPoolFewest);
  pool.max_replicas = reader.integer("max_replicas", kPoolInstances);
  const std::vector<std::string> metrics(scaling::kMetricNames.begin(),
                                         scaling::kMetricNames.end());
  pool.metric = reader.choice("metric", metrics);
  pool.target = reader.real("target", kPoolTargets);
  for (const auto& [key, slot] :
       {std::pair("replicas_at", &pool.replicas_at), std::pair("cron", &pool.cron)}) {
    if (const document::Node* const list = reader.node(key); list != nullptr && !list->is_null()) {
      *slot = *list;
    }
  }
  for (const Option& option : options()) {
    if (!may_differ(option)) {
      continue;
    }
    read_option(option, *slot_of(option, pool.deployment), reader, errors);
    const document::Node* const value = node.find(option.key());
    if (value != nullptr && !value->is_null()) {
      pool.deployment_keys.emplace_back(option.path);
    }
  }
  pool.deployment.engine.version = named_version(pool.deployment.engine.version);
  const std::size_t unknown = errors.size();
  reader.finish();
  for (std::size_t i = unknown; i < errors.size(); ++i) {
    add_hint(errors[i]);
  }
  // Two ways to say the same: the pool's own way wins.
  const auto states = [&](std::string_view option) {
    return std::ranges::find(pool.deployment_keys, option) != pool.deployment_keys.end();
  };
  const bool blocks = states("engine.num_gpu_blocks");
  if (blocks != states("engine.gpu_memory_utilization")) {
    blocks ? pool.deployment.engine.gpu_memory_utilization.reset()
           : pool.deployment.engine.num_gpu_blocks.reset();
  }
  if (counts_servers) {
    count_ranks(pool);
  }
  return pool;
}

}  // namespace

bool may_differ(const Option& option) {
  return option.path == "model" || option.path == "gpu" || option.section() == kEngineSection;
}

std::string pool_path(std::size_t pool, std::string_view key) {
  return fmt::format("{}[{}].{}", kPools, pool, key);
}

core::Result<std::vector<PoolSection>> read_pools(const ClusterSection& cluster,
                                                  const DeploymentSection& deployment) {
  const std::optional<document::Node>& pools = cluster.pools;
  const std::optional<std::int64_t>& prefill = cluster.disaggregation.prefill_instances;
  std::vector<PoolSection> listed;
  if (!pools) {
    return listed;
  }
  if (!pools->is_list() || pools->items().empty()) {
    return core::fail(
        core::Error{.field = std::string(kPools),
                    .message = fmt::format("found {}, expected a list of pools",
                                           pools->is_list() ? "an empty list" : pools->describe()),
                    .where = pools->where(),
                    .hint = kPoolExample});
  }
  core::Errors errors;
  std::int64_t instances = 0;
  for (std::size_t i = 0; i < pools->items().size(); ++i) {
    const document::Node& node = pools->items()[i];
    PoolSection pool = read_pool(node, fmt::format("{}[{}]", kPools, i), deployment, errors);
    if (!pool.name.empty() &&
        std::ranges::find(listed, pool.name, &PoolSection::name) != listed.end()) {
      errors.push_back({.field = pool_path(i, "name"),
                        .message = fmt::format("'{}' is listed twice", pool.name),
                        .where = node.where()});
    }
    if (prefill && instances + pool.instances <= *prefill) {
      pool.role = scaling::Role::kPrefill;
    } else if (prefill && instances >= *prefill) {
      pool.role = scaling::Role::kDecode;
    }
    instances += pool.instances;
    listed.push_back(std::move(pool));
  }
  if (errors.empty() && instances > kMaxInstances) {
    errors.push_back({.field = std::string(kPools),
                      .message = fmt::format("{} instances in all are out of range, expected {} at "
                                             "most",
                                             instances,
                                             kMaxInstances),
                      .where = pools->where()});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return listed;
}

std::span<const Option> pool_options() {
  return kPoolOptions;
}

void check_pools(Findings& findings) {
  ClusterSection& cluster = findings.loaded().scenario.run.cluster;
  if (!cluster.pools) {
    return;
  }
  const auto pools = read_pools(cluster, findings.scenario().deployment);
  if (!pools) {
    core::Errors& errors = findings.errors();
    errors.insert(errors.end(), pools.error().begin(), pools.error().end());
    cluster.instances = cluster.instances.value_or(1);  // It only says that there is a cluster.
    return;
  }
  if (findings.given("cluster.instances")) {
    findings.problem("cluster.instances",
                     "stands beside cluster.pools, which say how many instances there are",
                     "remove one of the two");
  }
  std::int64_t instances = 0;
  for (std::size_t i = 0; i < pools->size(); ++i) {
    const PoolSection& pool = (*pools)[i];
    instances += pool.instances;
    const auto need = [&](std::string_view key, const std::string& value, const char* hint) {
      if (value.empty()) {
        findings.errors().push_back({.field = pool_path(i, key),
                                     .message = "missing",
                                     .where = pool.node.where(),
                                     .hint = hint});
      }
    };
    need("model", pool.deployment.model, "here or for all pools: --model llama-3.1-8b");
    need("gpu", pool.deployment.gpu, "here or for all pools: --gpu h100");
  }
  cluster.instances = instances;
  const bool come_and_go = cluster.autoscaling.name || cluster.rolling_update.update_at;
  for (std::size_t i = 0; i < pools->size() && pools->size() > 1; ++i) {
    const PoolSection& pool = (*pools)[i];
    if (come_and_go && cluster.disaggregation.prefill_instances &&
        pool.role == scaling::Role::kBoth) {
      findings.errors().push_back(
          {.field = pool_path(i, "instances"),
           .message = "some of them compute prompts and others decode: of several pools that come "
                      "and go each does one of both",
           .where = pool.node.where(),
           .hint = "the first pools have cluster.disaggregation.prefill_instances together"});
    }
  }
  const bool weighted = std::ranges::any_of(
      *pools, [&](const PoolSection& pool) { return pool.weight != pools->front().weight; });
  const auto router = routing::find_router(router_name(cluster.router));
  if (weighted && router && !(*router)->weights) {
    findings.problem(
        kPools,
        fmt::format("weight would be ignored: the policy {} reads none", (*router)->name),
        fmt::format("of {}", routing::weighing_routers()));
  }
}

}  // namespace ridgeline::scenario
