#include "deploy/statement.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deploy/flags.hpp"
#include "deploy/paths.hpp"
#include "document/document.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/nested_members.hpp"
#include "scenario/options.hpp"
#include "scenario/pools.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

/// Dialect of the deployment's engine; vLLM's where no target is written for it.
const Dialect& dialect_of(const scenario::Deployment& deployment) {
  const std::string& version = deployment.section.engine.version;
  const Dialect* dialect = find_dialect(version.substr(0, version.find('@')));
  return dialect == nullptr ? kVllmDialect : *dialect;
}

/// The acceptance of drafts, which a server does not state.
Node acceptance_of(const Node& speculative) {
  const Node* acceptance = speculative.find(kAcceptance);
  return acceptance == nullptr
             ? Node()
             : Node::map({{.key = std::string(kAcceptance), .value = *acceptance, .where = {}}},
                         {});
}

/// Whether scenario.yaml has this option. With `with_flags` it also has an option that the scenario
/// states and no flag of the engine can say.
bool is_written(const Dialect& dialect, const OptionValue& option, bool with_flags) {
  return is_explicit(dialect, option) ||
         (with_flags && option.is_stated && !option.value.is_null());
}

/// A pool as it is written, without what flags say (`with_flags`: with all that they say).
Node pool_node(const scenario::Resolved& resolved,
               const scenario::ResolvedPool& pool,
               bool with_flags) {
  const Dialect& dialect = dialect_of(*pool.deployment);
  std::vector<Node::Member> members;
  for (const Node::Member& member : pool.section.node.members()) {
    const std::string path = std::string(kEngineSection) + "." + member.key;
    if (dialect.stated(path) == nullptr) {
      members.push_back(member);
    }
  }
  for (const OptionValue& option : engine_values(resolved, *pool.deployment, &pool)) {
    const std::string key(option.option.substr(kEngineSection.size() + 1));
    if (!is_written(dialect, option, with_flags) ||
        std::ranges::find(members, key, &Node::Member::key) != members.end()) {
      continue;
    }
    if (with_flags) {
      members.push_back({.key = key, .value = option.value, .where = {}});
    } else if (option.option == kSpeculativeConfig && !acceptance_of(option.value).is_null()) {
      members.push_back({.key = key, .value = acceptance_of(option.value), .where = {}});
    }
  }
  return Node::map(std::move(members), {});
}

/// Both parts: with the flags or without.
Node statement(const scenario::Resolved& resolved, bool with_flags) {
  const scenario::Deployment& deployment = *resolved.deployment;
  const bool has_pools = !resolved.pools.empty();
  const scenario::Scenario scenario = resolved.scenario();
  scenario::NestedMembers top;
  const Dialect& dialect = dialect_of(deployment);
  const std::vector<OptionValue> engine = engine_values(resolved, deployment, nullptr);
  for (const scenario::Option& option : scenario::options()) {
    if (option.path == kPools && has_pools) {
      std::vector<Node> pools;
      for (const scenario::ResolvedPool& pool : resolved.pools) {
        pools.push_back(pool_node(resolved, pool, with_flags));
      }
      top.add(kPools, Node::list(std::move(pools), {}));
      continue;
    }
    const auto value = std::ranges::find(engine, option.path, &OptionValue::option);
    if (value != engine.end()) {
      if (has_pools || !is_written(dialect, *value, with_flags)) {
        continue;
      }
      if (with_flags) {
        top.add(option.path, value->value);
      } else if (option.path == kSpeculativeConfig && !acceptance_of(value->value).is_null()) {
        top.add(option.path, acceptance_of(value->value));
      }
      continue;
    }
    const bool is_wanted = option.path == kEngineVersion ||
                           is_stated(scenario::provenance_of(resolved.provenance, option.path));
    Node node = scenario::value_node(option, scenario);
    if (is_wanted && !node.is_null() && scenario::applies(option, deployment.section.engine)) {
      top.add(option.path, std::move(node));
    }
  }
  if (!deployment.section.patches.empty()) {
    std::vector<Node::Member> patches;
    for (const scenario::Patch& patch : deployment.section.patches) {
      patches.push_back({.key = patch.target + "." + patch.key, .value = patch.value, .where = {}});
    }
    top.add("set", Node::map(std::move(patches), {}));
  }
  return top.finish();
}

}  // namespace

bool is_stated(const scenario::Provenance& provenance) {
  using Origin = scenario::Provenance::Origin;
  return provenance.origin == Origin::kFile || provenance.origin == Origin::kFlag;
}

std::vector<OptionValue> engine_values(const scenario::Resolved& resolved,
                                       const scenario::Deployment& deployment,
                                       const scenario::ResolvedPool* pool) {
  scenario::Scenario own;
  own.deployment = deployment.section;
  const scenario::Scenario defaults;
  std::vector<OptionValue> values;
  for (const scenario::Option& option : scenario::options()) {
    if (option.section() != kEngineSection || option.path == kEngineVersion ||
        !scenario::applies(option, deployment.section.engine)) {
      continue;
    }
    const bool is_of_pool =
        pool != nullptr && std::ranges::find(pool->section.deployment_keys, option.path) !=
                               pool->section.deployment_keys.end();
    const bool stated =
        is_of_pool || is_stated(scenario::provenance_of(resolved.provenance, option.path));
    Node value = scenario::value_node(option, own);
    const bool is_default =
        scenario::flow_text(value) == scenario::flow_text(scenario::value_node(option, defaults));
    values.push_back({.option = option.path,
                      .value = std::move(value),
                      .is_stated = stated,
                      .is_default = is_default});
  }
  return values;
}

Node assumed_part(const scenario::Resolved& resolved) {
  return statement(resolved, false);
}

Node stated_scenario(const scenario::Resolved& resolved) {
  return statement(resolved, true);
}

}  // namespace ridgeline::deploy
