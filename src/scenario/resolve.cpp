#include "scenario/resolve.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "scenario/deployment.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/options.hpp"
#include "scenario/pools.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/kv_offload.hpp"

namespace ridgeline::scenario {

namespace {

/// What was not given and is set now, other than to a built-in default, was derived.
void trace_derived(const Scenario& scenario, std::vector<Provenance>& provenance) {
  const Scenario defaults;
  auto entry = provenance.begin();
  for (const Option& option : options()) {
    if (entry->origin == Provenance::Origin::kDefault && value_node(option, defaults).is_null() &&
        !value_node(option, scenario).is_null() && !is_standard(option, scenario)) {
      entry->origin = Provenance::Origin::kDerived;
    }
    std::advance(entry, 1);
  }
}

/// The run's deployment, and those of its pools.
core::Errors resolve_deployments(DeploymentSection section,
                                 const std::vector<Provenance>& provenance,
                                 Resolved& out) {
  if (!out.run.cluster.pools) {
    auto deployment = resolve_deployment(std::move(section), provenance, out.workload);
    if (!deployment) {
      return std::move(deployment.error());
    }
    out.deployment = std::move(*deployment);
    return {};
  }
  auto pools = resolve_pools(out.run, section, provenance, out.workload);
  if (!pools) {
    return std::move(pools.error());
  }
  out.pools = std::move(*pools);
  out.deployment = out.pools.front().deployment;
  out.run.cluster.pools = pools_node(out.pools);
  return {};
}

/// What the deployments do not allow of KV tiers.
core::Errors tier_errors(const Resolved& resolved) {
  const KvOffloadSection& section = resolved.run.cluster.kv_offload;
  if (resolved.pools.empty()) {
    return offload_errors(section, *resolved.deployment);
  }
  core::Errors errors;
  for (const ResolvedPool& pool : resolved.pools) {
    for (core::Error& error : offload_errors(section, *pool.deployment)) {
      error.message = fmt::format("pool '{}': {}", pool.section.name, error.message);
      errors.push_back(std::move(error));
    }
  }
  return errors;
}

/// The warnings of a further pool that no other has.
core::Warnings warnings_of(const ResolvedPool& pool, const core::Warnings& known) {
  core::Warnings own;
  for (const core::Warning& warning : pool.deployment->warnings) {
    if (std::ranges::find(known, warning.message, &core::Warning::message) == known.end()) {
      own.push_back(warning);
      own.back().message = fmt::format("pool '{}': {}", pool.section.name, warning.message);
    }
  }
  return own;
}

}  // namespace

Scenario Resolved::scenario() const {
  return {.deployment = pools.empty() ? deployment->section : common_section(pools),
          .workload = workload.section,
          .run = run};
}

core::Result<Resolved> resolve(LoadedScenario loaded) {
  Scenario& given = loaded.scenario;
  Resolved out;
  out.workload = {
      .section = std::move(given.workload),
      .seed = given.run.seed,
      // Behind a gateway every rank is simulated, as an instance of its own.
      .ranks = given.run.cluster.instances ? 1 : attention_ranks(given.deployment.engine).ranks};
  fill_workload(out.workload.section);
  out.run = std::move(given.run);
  if (auto errors = resolve_deployments(std::move(given.deployment), loaded.provenance, out);
      !errors.empty()) {
    return core::fail(std::move(errors));
  }
  if (auto errors = tier_errors(out); !errors.empty()) {
    for (core::Error& error : errors) {
      error.where = provenance_of(loaded.provenance, error.field).where;
    }
    return core::fail(std::move(errors));
  }
  out.provenance = std::move(loaded.provenance);
  trace_derived(out.scenario(), out.provenance);
  out.warnings = std::move(loaded.warnings);
  const auto add = [&](const core::Warnings& warnings) {
    out.warnings.insert(out.warnings.end(), warnings.begin(), warnings.end());
  };
  add(out.deployment->warnings);
  for (std::size_t i = 1; i < out.pools.size(); ++i) {
    add(warnings_of(out.pools[i], out.warnings));
  }
  return out;
}

void mark_stated(Resolved& resolved, std::string_view path) {
  const auto found = std::ranges::find(resolved.provenance, path, &Provenance::path);
  RIDGELINE_CHECK(found != resolved.provenance.end(), path);
  found->origin = Provenance::Origin::kFlag;
}

}  // namespace ridgeline::scenario
