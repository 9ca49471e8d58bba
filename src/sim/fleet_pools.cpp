#include "sim/fleet_pools.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/cluster.hpp"
#include "cluster/pools.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/label_set.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/parallelism.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/autoscaling.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/sections/pools.hpp"
#include "scenario/sections/rolling_update.hpp"
#include "sim/operations.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {
namespace {

constexpr double kSecondsInHour = 3600.0;

/// By pool, whether it serves something.
using Members = std::vector<bool>;

bool lists(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The pools that serve a model, and an adapter where one is named.
Members members_of(const scenario::Resolved& resolved,
                   const std::string& model,
                   const std::optional<std::string>& adapter) {
  Members members;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    const auto& adapters = pool.section.adapters;
    members.push_back(lists(pool.section.models, model) &&
                      (!adapter || !adapters || lists(*adapters, *adapter)));
  }
  return members;
}

/// Numbers the groups of pools, and finds that of a request.
class Groups {
 public:
  Groups(const scenario::Resolved& resolved, const workload::Source& source)
      : resolved_(resolved), source_(source) {
    // Every group that a request can have, so that their number is known from the start.
    std::vector<std::optional<std::string>> adapters = {std::nullopt, std::string()};
    for (const scenario::ResolvedPool& pool : resolved.pools) {
      for (const std::string& adapter :
           pool.section.adapters.value_or(std::vector<std::string>())) {
        adapters.emplace_back(adapter);
      }
    }
    for (const scenario::ResolvedPool& pool : resolved.pools) {
      for (const std::string& model : pool.section.models) {
        for (const auto& adapter : adapters) {
          add(members_of(resolved, model, adapter));
        }
      }
    }
  }

  [[nodiscard]] const std::vector<Members>& all() const { return groups_; }

  std::optional<std::uint32_t> of(const domain::Request& request) {
    const std::size_t place = request.label_set.valid() ? request.label_set.value() + 1U : 0U;
    if (place >= of_sets_.size()) {
      of_sets_.resize(place + 1);
    }
    std::optional<std::optional<std::uint32_t>>& known = of_sets_[place];
    if (!known) {
      known = find(members_of(resolved_,
                              text_of(request, domain::Label::kModel)
                                  .value_or(resolved_.pools.front().section.models.front()),
                              text_of(request, domain::Label::kAdapter)));
    }
    return *known;
  }

 private:
  void add(Members members) {
    if (lists_any(members) && std::ranges::find(groups_, members) == groups_.end()) {
      groups_.push_back(std::move(members));
    }
  }
  [[nodiscard]] static bool lists_any(const Members& members) {
    return std::ranges::find(members, true) != members.end();
  }
  [[nodiscard]] std::optional<std::uint32_t> find(const Members& members) const {
    const auto found = std::ranges::find(groups_, members);
    return found == groups_.end()
               ? std::nullopt
               : std::optional(static_cast<std::uint32_t>(found - groups_.begin()));
  }
  [[nodiscard]] std::optional<std::string> text_of(const domain::Request& request,
                                                   domain::Label label) const {
    if (!request.label_set.valid()) {
      return std::nullopt;
    }
    const std::int32_t value = (*source_.label_sets())[request.label_set].of(label);
    const bool is_named = value != domain::LabelSet::kNoLabel && value != domain::LabelSet::kOther;
    return is_named ? std::optional(source_.labels().name(value)) : std::nullopt;
  }

  const scenario::Resolved& resolved_;
  const workload::Source& source_;
  std::vector<Members> groups_;
  std::vector<std::optional<std::optional<std::uint32_t>>> of_sets_;  ///< By label set, none first.
};

}  // namespace

PoolEngines::PoolEngines(
    const scenario::Resolved& resolved,
    const std::function<engine::EngineOptions(const scenario::Deployment&)>& options_of) {
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    engines_.push_back(
        {.pool = pool,
         .places = places_of_pool(resolved, pool.section),
         .spread = pool.section.spread.value_or(resolved.run.cluster.spread.value_or(0.0)),
         .options = options_of(*pool.deployment),
         .logged = LoggedModel(*pool.deployment->latency)});
  }
}

std::vector<cluster::InstancePool> PoolEngines::pools() const {
  std::vector<cluster::InstancePool> pools;
  for (const One& one : engines_) {
    const scenario::Deployment& deployment = *one.pool.deployment;
    pools.push_back({.instances = one.places,
                     .options = &one.options,
                     .model = deployment.latency->logs()
                                  ? static_cast<const latency::StepTimeModel*>(&one.logged)
                                  : deployment.latency.get(),
                     .host = &deployment.host,
                     .weight = one.pool.section.weight,
                     .spread = one.spread,
                     .ranks_in_lock_step = scenario::ranks_in_lock_step(
                         deployment.network, deployment.execution.sharding)});
  }
  return pools;
}

bool PoolEngines::any_logs() const {
  return std::ranges::any_of(engines_,
                             [](const One& one) { return one.pool.deployment->latency->logs(); });
}

core::Warnings PoolEngines::findings() const {
  core::Warnings all;
  for (const One& one : engines_) {
    const auto own = one.pool.deployment->latency->findings(one.logged.lookups());
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

cluster::PoolGroups pool_groups(const scenario::Resolved& resolved,
                                const workload::Source& source) {
  if (resolved.pools.empty()) {
    return {};
  }
  const auto groups = std::make_shared<Groups>(resolved, source);
  return {.members = groups->all(),
          .of = [groups](const domain::Request& request) { return groups->of(request); }};
}

std::int64_t places_of_pool(const scenario::Resolved& resolved, const scenario::PoolSection& pool) {
  const scenario::ClusterSection& cluster = resolved.run.cluster;
  if (cluster.disaggregation.prefill_instances && resolved.pools.size() == 1) {
    return num_places(resolved);
  }
  return scenario::with_surge(
      cluster.rolling_update,
      pool.name,
      scenario::most_instances(scenario::autoscaling_of(cluster.autoscaling, pool),
                               pool.instances));
}

std::vector<std::size_t> pools_of_instances(const scenario::Resolved& resolved) {
  std::vector<std::size_t> pools;
  for (std::size_t pool = 0; pool < resolved.pools.size(); ++pool) {
    pools.insert(pools.end(),
                 static_cast<std::size_t>(places_of_pool(resolved, resolved.pools[pool].section)),
                 pool);
  }
  return pools;
}

void fill_pools(const scenario::Resolved& resolved,
                const cluster::Cluster& cluster,
                double seconds,
                metrics::Summary& summary) {
  const auto share = [](double part, double whole) {
    return whole > 0.0 ? std::optional(part / whole) : std::nullopt;
  };
  metrics::FleetSummary& fleet = *summary.fleet;
  const double duration = summary.duration_s.value_or(0.0);
  std::size_t next = 0;
  for (std::size_t i = 0; i < resolved.pools.size(); ++i) {
    const scenario::ResolvedPool& from = resolved.pools[i];
    const scenario::Deployment& deployment = *from.deployment;
    metrics::PoolSummary& pool = fleet.pools[i];
    pool.name = from.section.name;
    pool.model = deployment.network.name;
    pool.gpu = deployment.gpu.name;
    pool.instances = from.section.instances;
    pool.gpus = deployment.execution.sharding.gpus();
    engine::EngineTotals sum;
    const auto count = static_cast<std::size_t>(places_of_pool(resolved, from.section));
    const std::size_t last = next + count;
    for (; next < last; ++next) {
      const core::InstanceId id(static_cast<core::InstanceId::Rep>(next));
      const engine::EngineTotals totals = cluster.totals_of(id);
      sum.busy += totals.busy;
      sum.prefix_queries += totals.prefix_queries;
      sum.prefix_hits += totals.prefix_hits;
      if (next < fleet.instances.size()) {  // The last ones may never have been there.
        pool.together.kv_peak = std::max(pool.together.kv_peak.value_or(0.0),
                                         fleet.instances[next].kv_peak.value_or(0.0));
      }
    }
    const double existed = seconds_existed(cluster, last - count, last);
    pool.together.busy =
        resolved.run.cluster.autoscaling.name || resolved.run.cluster.rolling_update.update_at
            ? share(sum.busy.to_seconds(), existed)
            : share(sum.busy.to_seconds(), seconds * static_cast<double>(pool.instances));
    pool.together.prefix_hit_rate = share(static_cast<double>(sum.prefix_hits.value()),
                                          static_cast<double>(sum.prefix_queries.value()));
    pool.output_throughput =
        share(static_cast<double>(pool.together.total_output_tokens), duration);
    const double hours = existed / kSecondsInHour;
    pool.gpu_hours = hours * static_cast<double>(pool.gpus);
    const auto price = from.section.price_per_hour ? from.section.price_per_hour
                                                   : resolved.run.cluster.price_per_hour;
    if (price) {
      pool.cost = pool.gpu_hours * *price;
    }
  }
}

}  // namespace ridgeline::sim
