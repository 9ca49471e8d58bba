#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/scaling/registry.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// One entry of `cluster.pools`: instances that are alike.
struct PoolSection {
  std::string name;
  std::int64_t instances = 1;
  /// Names by which requests ask for its network; empty: the network's own.
  std::vector<std::string> models = {};
  /// The adapters that it serves; not stated: all.
  std::optional<std::vector<std::string>> adapters = {};
  double weight = 1.0;                ///< Weight of each instance, for policies that read it.
  std::optional<double> spread = {};  ///< As ClusterSection::spread.
  std::optional<double> price_per_hour = {};  ///< Price of each instance.
  /// Its own of what cluster.autoscaling says for all pools.
  std::optional<std::int64_t> min_replicas = {};
  std::optional<std::int64_t> max_replicas = {};
  std::optional<std::string> metric = {};
  std::optional<double> target = {};
  std::optional<document::Node> replicas_at = {};
  std::optional<document::Node> cron = {};
  /// What its instances do of a request: all, or of one of two legs. Where prefill and decode are
  /// apart and a pool has instances of both, all.
  scaling::Role role = scaling::Role::kBoth;
  std::vector<std::string> deployment_keys = {};  ///< Paths of the options that it states.
  DeploymentSection deployment;                   ///< The scenario's, with what the pool states.
  document::Node node;                            ///< As it was written.
};

/// The pools that `cluster.pools` lists, over the scenario's own deployment: none where it is not
/// stated. Of a list that is not one of pools, the problems.
[[nodiscard]] core::Result<std::vector<PoolSection>> read_pools(
    const ClusterSection& cluster, const DeploymentSection& deployment);

/// Whether a pool may state the option: what is served, and how.
[[nodiscard]] bool may_differ(const Option& option);
/// The dotted path of a key of a pool: "cluster.pools[1].gpu".
[[nodiscard]] std::string pool_path(std::size_t pool, std::string_view key);

}  // namespace ridgeline::scenario
