// Clusters whose instances come, fail and go, over random plans.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/faults/fault.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/kv_offload.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "cluster/pools.hpp"
#include "cluster/scaling/metric.hpp"
#include "cluster/scaling/registry.hpp"
#include "cluster/scaling_part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/server.hpp"
#include "random_cluster.hpp"
#include "routing/by_group.hpp"
#include "routing/registry.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/offloaded.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

using test::ended;
using test::Ended;
using test::from_1_to_microseconds;
using test::random_costs;
using test::random_engine;
using test::random_fault;
using test::random_requests;
using test::random_settings;
using test::random_times;
using test::up_to_microseconds;

struct RandomOperations {
  engine::EngineOptions options;
  test::LinearModel::Costs costs;
  std::int64_t places = 1;
  std::int64_t initial = 1;
  std::int64_t fewest = 1;
  /// Two pools of a price each, where there are any: request i mod 3 is for both, or for one.
  std::vector<ScaledPool> pools;
  const routing::RouterEntry* router = nullptr;
  GatewayTimes times;
  std::vector<domain::Request> requests;
  std::vector<faults::ListedFault> faults;
  std::vector<faults::RandomFaults> random;
  OperationsInputs inputs;
  const scaling::ScalerEntry* scaler = nullptr;
  scaling::ScalerSettings settings;
  core::Duration metrics_interval;
  std::optional<OffloadOptions> tiers;  ///< Tiers of KV outside the GPUs.
};

void draw_pools(RandomOperations& all) {
  all.places = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto count = *rc::gen::inRange<std::int64_t>(1, 4);
    const auto initial = *rc::gen::inRange<std::int64_t>(1, count + 1);
    all.inputs.places.push_back({.first = static_cast<std::size_t>(all.places),
                                 .count = static_cast<std::size_t>(count),
                                 .initial = initial});
    all.inputs.places.back().serves = {true, i == 0, i == 1};
    if (*rc::gen::arbitrary<bool>()) {
      scaling::ColdStart& own = all.inputs.places.back().cold_start.emplace();
      own.compile.mean = own.capture.mean = up_to_microseconds(4000);
    }
    all.pools.push_back({.places = i,
                         .min_replicas = *rc::gen::inRange<std::int64_t>(1, initial + 1),
                         .max_replicas = count,
                         .kv_capacity = core::Tokens(1024),
                         .cost = *rc::gen::element(1.0, 2.0, 3.0)});
    all.places += count;
  }
}

RandomOperations random_operations() {
  RandomOperations all;
  all.options = random_engine();
  all.costs = random_costs();
  all.places = *rc::gen::inRange<std::int64_t>(1, 6);
  all.initial = *rc::gen::inRange<std::int64_t>(1, all.places + 1);
  all.fewest = *rc::gen::inRange<std::int64_t>(1, all.initial + 1);
  if (*rc::gen::arbitrary<bool>()) {
    draw_pools(all);
  }
  const auto routers = routing::routers();
  all.router = &routers[*rc::gen::inRange<std::size_t>(0, routers.size())];
  all.times = random_times();
  all.requests = random_requests(60, 2000);
  for (auto left = *rc::gen::inRange(0, 6); left > 0; --left) {
    all.faults.push_back(random_fault(all.places));
  }
  test::remember_lost_events(all.faults, all.times);
  all.random = test::random_faults_by_chance(false);
  all.inputs.instances_per_host = *rc::gen::inRange<std::int64_t>(1, 3);
  all.inputs.retries = {.max_retries = *rc::gen::inRange<std::int64_t>(0, 4),
                        .retry_backoff = up_to_microseconds(3000)};
  all.inputs.health_check = {.interval = from_1_to_microseconds(9000),
                             .failures = *rc::gen::inRange<std::int64_t>(1, 4)};
  all.inputs.cold_start = {
      .schedule = {.mean = up_to_microseconds(2000)},
      .pull = {},
      .load = {.mean = up_to_microseconds(9000), .sd = up_to_microseconds(3000)},
      .compile = {.mean = up_to_microseconds(2000)},
      .capture = {},
      .warm_up = {}};
  if (*rc::gen::arbitrary<bool>()) {
    all.inputs.drain_timeout = up_to_microseconds(9000);
  }
  all.inputs.victim =
      *rc::gen::element(scaling::VictimPolicy::kNewest, scaling::VictimPolicy::kLeastLoaded);
  if (*rc::gen::arbitrary<bool>()) {
    const auto scalers = scaling::scalers();
    all.scaler = &scalers[*rc::gen::inRange<std::size_t>(0, scalers.size())];
    all.settings = random_settings();
    all.metrics_interval = from_1_to_microseconds(9000);
  }
  if (*rc::gen::element(false, false, true)) {
    if (all.inputs.places.empty()) {
      all.inputs.places = {{.count = static_cast<std::size_t>(all.places), .initial = all.initial}};
    }
    all.inputs.updates = test::random_updates(all.inputs.places);
  }
  if (*rc::gen::element(false, false, true)) {
    all.tiers = test::random_tiers(all.places);
    all.options.kv_transfer = all.options.kv_connector = true;
    all.options.profile =
        *engine::find_profile(*rc::gen::element<std::string>("0.11", "0.20", "0.28"));
  }
  return all;
}

PoolGroups groups_of(const RandomOperations& all) {
  if (all.pools.empty()) {
    return {};
  }
  return {.members = {{true, true}, {true, false}, {false, true}},
          .of = [](const domain::Request& request) {
            return std::optional(static_cast<std::uint32_t>(request.id.value() % 3));
          }};
}

struct OperatedRun {
  Ended ended;
  std::int64_t scale_events = 0;
  std::int64_t faults = 0;
  std::int64_t retries = 0;
  std::vector<UpdateReport> updates = {};
  OffloadTotals tiers = {};
};

/// What each autoscaler has.
std::vector<std::vector<ScaledPool>> scaled_together(const RandomOperations& all) {
  if (all.scaler == nullptr) {
    return {};
  }
  if (all.pools.empty()) {
    return {{{.min_replicas = all.fewest,
              .max_replicas = all.places,
              .kv_capacity = core::Tokens(1024)}}};
  }
  if (all.scaler->shares_pools) {
    return {all.pools};
  }
  return {{all.pools.front()}, {all.pools.back()}};
}

ClusterInputs inputs_of(const RandomOperations& all,
                        const engine::InstanceInputs& instance,
                        bool eager,
                        Operations*& operations,
                        const std::shared_ptr<KvOffload*>& tiers) {
  const auto new_router = [&all] {
    const auto make = [&all] { return all.router->make({}); };
    return all.pools.empty() ? make() : routing::make_by_group(groups_of(all).members.size(), make);
  };
  ClusterInputs inputs{.instance = instance,
                       .num_instances = all.places,
                       .router = new_router(),
                       .times = all.times,
                       .seed = 7,
                       .eager = eager};
  inputs.parts.push_back({.kind = PartKind::kFaults, .make = [&, new_router](Fleet& fleet) {
                            OperationsInputs own = all.inputs;
                            own.initial_instances = all.initial;
                            own.faults = faults::FaultPlan(all.faults, all.random, all.places, 3);
                            own.new_routers = [new_router] {
                              Gateway::Routers one;
                              one.push_back(new_router());
                              return one;
                            };
                            auto part = std::make_unique<Operations>(fleet, std::move(own));
                            operations = part.get();
                            return part;
                          }});
  if (all.tiers) {
    inputs.parts.push_back(test::offload_part(*all.tiers, tiers));
  }
  for (const ScaledPool& pool : all.pools) {
    inputs.pools.push_back({.instances = pool.max_replicas,
                            .options = &instance.engine.options,
                            .model = &instance.engine.model,
                            .host = &instance.engine.host});
  }
  inputs.groups = groups_of(all);
  for (const std::vector<ScaledPool>& together : scaled_together(all)) {
    inputs.parts.push_back({.kind = PartKind::kScaling, .make = [&, together](Fleet& fleet) {
                              return std::make_unique<ScalingPart>(
                                  fleet,
                                  *operations,
                                  ScalingInputs{.scaler = all.scaler->make(all.settings),
                                                .pools = together,
                                                .metrics_interval = all.metrics_interval,
                                                .reads_busy = true,
                                                .latency = test::latency_of(all.settings)});
                            }});
  }
  return inputs;
}

OperatedRun run(const RandomOperations& all, bool eager, bool jump) {
  test::RecordingSink sink;
  const test::LinearModel model(all.costs);
  const engine::HostTime host;
  const engine::RequestPath path;
  Operations* operations = nullptr;
  const auto tiers = std::make_shared<KvOffload*>(nullptr);
  Cluster cluster(
      inputs_of(all,
                {.engine = {.options = all.options, .model = model, .host = host, .sink = sink},
                 .path = path,
                 .id = {},
                 .core = eager ? engine::EngineCore::kReference : engine::EngineCore::kFast,
                 .jump = jump,
                 .may_slow_down = true},
                eager,
                operations,
                tiers));
  for (const domain::Request& request : all.requests) {
    cluster.submit(request);
  }
  engine::Pause pause = engine::Pause::kLimit;
  while (pause != engine::Pause::kIdle) {
    pause = cluster.advance(core::SimTime::never(), false, 1000);
    RC_ASSERT(pause != engine::Pause::kHorizon);
  }
  std::int64_t scale_events = 0;
  for (const auto* const scaling : cluster.parts<ScalingPart>()) {
    scale_events += static_cast<std::int64_t>(scaling->events().size());
  }
  OperatedRun outcome{.ended = ended(sink, cluster.totals().steps),
                      .scale_events = scale_events,
                      .faults = static_cast<std::int64_t>(operations->totals().faults.size()),
                      .retries = operations->totals().retries,
                      .updates = operations->totals().updates};
  if (*tiers != nullptr) {
    outcome.tiers = (*tiers)->totals();
  }
  return outcome;
}

/// Each request ends once; settled lazily or eagerly, with jumps or without, all is the same.
RC_GTEST_PROP(Operations, SettledLazilyGiveWhatTheReferenceGives, ()) {
  const RandomOperations all = random_operations();
  const OperatedRun reference = run(all, true, false);
  RC_ASSERT(reference.ended.requests.size() == all.requests.size());
  for (std::size_t i = 0; i < all.requests.size(); ++i) {
    RC_ASSERT(reference.ended.requests[i].id == all.requests[i].id);
    RC_ASSERT(reference.ended.requests[i].arrival == all.requests[i].arrival);
    RC_ASSERT(reference.ended.requests[i].attempts <= 1 + all.inputs.retries.max_retries);
  }
  for (const bool jump : {true, false}) {
    const OperatedRun lazy = run(all, false, jump);
    RC_ASSERT(lazy.ended == reference.ended);
    RC_ASSERT(lazy.scale_events == reference.scale_events);
    RC_ASSERT(lazy.faults == reference.faults);
    RC_ASSERT(lazy.retries == reference.retries);
    RC_ASSERT(lazy.updates == reference.updates);
    RC_ASSERT(lazy.tiers == reference.tiers);
  }
  const bool is_quiet = all.faults.empty() && all.random.empty() && all.scaler == nullptr;
  for (const UpdateReport& report : reference.updates) {
    const PlannedUpdate& update = all.inputs.updates[static_cast<std::size_t>(report.update)];
    const std::int64_t missing = report.replicas - report.fewest_ready;
    RC_ASSERT(!is_quiet || missing <= update.rule.unavailable.value);
    RC_ASSERT(!is_quiet || report.replaced <= report.replicas);
    RC_ASSERT(!is_quiet || report.over == core::SimTime::never() ||
              report.replaced == report.replicas);
  }
  RC_CLASSIFY(!reference.updates.empty(), "updated");
  RC_CLASSIFY(!reference.updates.empty() && reference.updates.back().over != core::SimTime::never(),
              "updated to the end");
  RC_CLASSIFY(reference.scale_events > 0, "scaled");
  RC_CLASSIFY(reference.scale_events > 0 && !all.pools.empty(), "scaled several pools");
  RC_CLASSIFY(reference.faults > 0, "struck");
  RC_CLASSIFY(reference.retries > 0, "retried");
  RC_CLASSIFY(reference.tiers.hits > core::Tokens(0) && reference.faults > 0,
              "loaded from tiers beside faults");
}

/// Faults that come after the last request, and an autoscaler that may change nothing.
RC_GTEST_PROP(Operations, AFaultThatNeverComesChangesNothing, ()) {
  RandomOperations all = random_operations();
  all.pools.clear();
  all.inputs.places.clear();
  all.initial = all.places;
  all.fewest = all.places;
  all.random.clear();
  all.tiers.reset();
  all.inputs.updates.clear();
  for (faults::ListedFault& fault : all.faults) {
    fault.fault.at = core::SimTime::at(core::Duration::seconds(9000));
  }
  const OperatedRun with = run(all, false, true);
  test::RecordingSink sink;
  const test::LinearModel model(all.costs);
  const engine::HostTime host;
  const engine::RequestPath path;
  Cluster alone(
      {.instance = {.engine = {.options = all.options, .model = model, .host = host, .sink = sink},
                    .path = path,
                    .id = {}},
       .num_instances = all.places,
       .router = all.router->make({}),
       .times = all.times,
       .seed = 7});
  for (const domain::Request& request : all.requests) {
    alone.submit(request);
  }
  alone.advance(core::SimTime::never(), false, test::kNoBudget);
  RC_ASSERT(with.ended == ended(sink, alone.totals().steps));
  RC_ASSERT(with.faults == 0);
}

}  // namespace
}  // namespace ridgeline::cluster
