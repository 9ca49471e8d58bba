#include "scenario/pools.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/deployment.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/options.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/pools.hpp"

namespace ridgeline::scenario {
namespace {

constexpr const char* kPoolsPath = "cluster.pools";

std::string_view key_of(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

bool states(const PoolSection& pool, std::string_view path) {
  return std::ranges::find(pool.deployment_keys, path) != pool.deployment_keys.end();
}

/// Where the values of a pool's deployment come from.
std::vector<Provenance> provenance_in(const PoolSection& pool, std::vector<Provenance> provenance) {
  for (Provenance& entry : provenance) {
    if (states(pool, entry.path)) {
      entry.origin = Provenance::Origin::kFile;
      entry.where = pool.node.find(key_of(entry.path))->where();
    }
  }
  return provenance;
}

/// An error about a pool's deployment says so, and where the pool states the value.
core::Error about(const PoolSection& pool, std::size_t place, core::Error error) {
  error.message = fmt::format("pool '{}': {}", pool.name, error.message);
  if (states(pool, error.field)) {
    error.field = pool_path(place, key_of(error.field));
  }
  if (error.where.file.empty()) {
    error.where = pool.node.where();
  }
  return error;
}

/// Names by which requests may ask for a network where the pool states none.
std::vector<std::string> own_names(const Deployment& deployment) {
  std::vector<std::string> names = {deployment.section.model};
  if (deployment.network.name != names.front()) {
    names.push_back(deployment.network.name);
  }
  return names;
}

std::string names(const std::optional<std::vector<std::string>>& adapters) {
  return adapters ? fmt::format("[{}]", fmt::join(*adapters, ", ")) : std::string("of all names");
}

/// Engines that do not read each other's KV.
void refuse_engines(const ResolvedPool& one, const ResolvedPool& other, core::Errors& errors) {
  errors.push_back({.field = kPoolsPath,
                    .message = fmt::format("pool '{}' runs {}, pool '{}' {}: with prefill and "
                                           "decode apart KV moves between them",
                                           one.section.name,
                                           one.deployment->section.engine.version,
                                           other.section.name,
                                           other.deployment->section.engine.version),
                    .where = other.section.node.where(),
                    .hint = "the same engine in all pools"});
}

/// What keeps KV of one pool from being read by another.
void check_alike(const std::vector<ResolvedPool>& pools, core::Errors& errors) {
  const ResolvedPool& first = pools.front();
  for (std::size_t i = 1; i < pools.size(); ++i) {
    const ResolvedPool& other = pools[i];
    const auto refuse = [&](std::string_view what, const auto& one, const auto& here) {
      if (one != here) {
        errors.push_back(
            {.field = kPoolsPath,
             .message = fmt::format("pool '{}' has the {} {}, pool '{}' {}: with prefill and "
                                    "decode apart KV moves between them",
                                    first.section.name,
                                    what,
                                    one,
                                    other.section.name,
                                    here),
             .where = other.section.node.where(),
             .hint = "the same in all pools"});
      }
    };
    const EngineSection& one = first.deployment->section.engine;
    const EngineSection& here = other.deployment->section.engine;
    refuse("network", first.deployment->network.name, other.deployment->network.name);
    refuse("kv_cache_dtype", one.kv_cache_dtype, here.kv_cache_dtype);
    refuse("block_size", one.block_size, here.block_size);
    if (first.deployment->network.name == other.deployment->network.name) {
      refuse("models",
             fmt::format("{}", fmt::join(first.section.models, ", ")),
             fmt::format("{}", fmt::join(other.section.models, ", ")));
    }
    refuse("adapters", names(first.section.adapters), names(other.section.adapters));
  }
  for (const ResolvedPool& pool : pools) {
    const EngineSection& own = pool.deployment->section.engine;
    if (entry_of(own).name != entry_of(first.deployment->section.engine).name) {
      refuse_engines(first, pool, errors);
    } else if (has_own_settings(own) && !entry_of(own).own->has_legs) {
      errors.push_back({.field = kPoolsPath,
                        .message = fmt::format("pool '{}' runs {}, of which prefill and decode "
                                               "apart are not modelled yet",
                                               pool.section.name,
                                               own.version),
                        .where = pool.section.node.where(),
                        .hint = "vllm in all pools"});
    }
  }
}

/// Leaves an optional value out; others have one always.
template <class T>
void unset(T* slot) {
  if constexpr (!std::is_same_v<T, std::string> && !std::is_same_v<T, std::int64_t> &&
                !std::is_same_v<T, bool>) {
    slot->reset();
  }
}
void unset(const NamedSlot& slot) {
  std::erase_if(*slot.values,
                [&](const document::NamedValue& value) { return value.name == slot.name; });
}

/// What orders requests or limits their adapters in all pools has to be known to each engine.
constexpr auto kFollowedByAll = std::to_array<std::string_view>(
    {"engine.scheduling_policy", "engine.enable_lora", "engine.max_loras"});

/// The settings for all pools that the pool's engine cannot follow, though requests would notice.
void check_followed(const PoolSection& section,
                    const std::vector<Provenance>& provenance,
                    core::Errors& errors) {
  for (const std::string_view path : kFollowedByAll) {
    const Option& option = *find_option(path);
    const Provenance& from = provenance_of(provenance, path);
    Scenario own;
    own.deployment = section.deployment;
    const bool changes = value_text(option, own) != value_text(option, Scenario());
    if (from.origin != Provenance::Origin::kDefault && changes &&
        !applies(option, section.deployment.engine)) {
      errors.push_back({.field = std::string(path),
                        .message = fmt::format("pool '{}' runs {}, which cannot follow it",
                                               section.name,
                                               section.deployment.engine.version),
                        .where = from.where,
                        .hint = "state it in the pools of vllm"});
    }
  }
}

/// The settings that a pool states for another engine than its own.
void check_settings(const PoolSection& section, core::Errors& errors) {
  for (const Option& option : options()) {
    if (states(section, option.path) && !applies(option, section.deployment.engine)) {
      errors.push_back(
          {.field = kPoolsPath,
           .message = fmt::format("pool '{}': {} would be ignored: {} has no such setting",
                                  section.name,
                                  option.key(),
                                  section.deployment.engine.version),
           .where = section.node.where(),
           .hint = {}});
    }
  }
}

}  // namespace

core::Result<std::vector<ResolvedPool>> resolve_pools(const RunSettings& run,
                                                      const DeploymentSection& deployment,
                                                      const std::vector<Provenance>& provenance,
                                                      const Workload& workload) {
  auto sections = read_pools(run.cluster, deployment);
  RIDGELINE_CHECK(sections.has_value(), "a scenario's rules read its pools");
  std::vector<ResolvedPool> pools;
  core::Errors errors;
  for (std::size_t i = 0; i < sections->size(); ++i) {
    PoolSection& section = (*sections)[i];
    check_settings(section, errors);
    check_followed(section, provenance, errors);
    auto resolved =
        resolve_deployment(section.deployment, provenance_in(section, provenance), workload);
    if (!resolved) {
      std::ranges::transform(resolved.error(), std::back_inserter(errors), [&](core::Error& error) {
        return about(section, i, std::move(error));
      });
      continue;
    }
    if (section.models.empty()) {
      section.models = own_names(**resolved);
    }
    pools.push_back({.section = std::move(section), .deployment = std::move(*resolved)});
  }
  if (errors.empty() && run.cluster.disaggregation.prefill_instances && !pools.empty()) {
    check_alike(pools, errors);
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return pools;
}

DeploymentSection common_section(const std::vector<ResolvedPool>& pools) {
  Scenario common;
  common.deployment = pools.front().deployment->section;
  for (const Option& option : options()) {
    const auto slot = slot_of(option, common.deployment);
    const bool has_all = std::ranges::all_of(pools, [&](const ResolvedPool& pool) {
      Scenario own;
      own.deployment = pool.deployment->section;
      return !applies(option, own.deployment.engine) || !value_node(option, own).is_null();
    });
    if (slot && may_differ(option) && !has_all) {
      std::visit([](const auto& held) { unset(held); }, *slot);
    }
  }
  return common.deployment;
}

document::Node pools_node(const std::vector<ResolvedPool>& pools) {
  std::vector<document::Node> list;
  Scenario common;
  common.deployment = common_section(pools);
  for (const ResolvedPool& pool : pools) {
    Scenario own;
    own.deployment = pool.deployment->section;
    std::vector<document::Node::Member> members = pool.section.node.members();
    for (const Option& option : options()) {
      Scenario scratch;
      if (!slot_of(option, scratch.deployment) || !may_differ(option) ||
          states(pool.section, option.path) || !applies(option, own.deployment.engine)) {
        continue;
      }
      document::Node value = value_node(option, own);
      const bool is_common = applies(option, common.deployment.engine) &&
                             flow_text(value) == flow_text(value_node(option, common));
      if (!value.is_null() && !is_common) {
        members.push_back(
            {.key = std::string(option.key()), .value = std::move(value), .where = {}});
      }
    }
    list.push_back(document::Node::map(std::move(members), {}));
  }
  return document::Node::list(std::move(list), {});
}

Servers as_servers(std::vector<ResolvedPool> pools) {
  std::ranges::reverse(pools);
  Servers servers{.common = common_section(pools), .pools = {}};
  std::vector<document::Node> list = pools_node(pools).items();
  for (std::size_t i = 0; i < pools.size(); ++i) {
    std::vector<document::Node::Member> members;
    std::vector<document::Node::Member> engine;
    for (document::Node::Member member : list[i].members()) {
      if (member.key == "instances") {
        const std::int64_t ranks = attention_ranks(pools[i].deployment->section.engine).ranks;
        member.value = document::Node::integer(pools[i].section.instances / ranks, {});
      }
      const bool is_engines = find_option(fmt::format("engine.{}", member.key)) != nullptr;
      (is_engines ? engine : members).push_back(std::move(member));
    }
    members.push_back(
        {.key = "engine", .value = document::Node::map(std::move(engine), {}), .where = {}});
    list[i] = document::Node::map(std::move(members), {});
  }
  std::ranges::reverse(list);
  servers.pools = document::Node::list(std::move(list), {});
  return servers;
}

}  // namespace ridgeline::scenario
