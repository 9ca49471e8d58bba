#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "admission/registry.hpp"
#include "admission/settings.hpp"
#include "cluster/admission_part.hpp"
#include "cluster/cluster.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "routing/registry.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

using engine::Pause;

/// A small cluster in corners that a real one seldom sees, and its requests.
struct RandomCluster {
  engine::EngineOptions options;
  engine::RequestPath path;
  test::LinearModel::Costs costs;
  std::int64_t instances = 1;
  const routing::RouterEntry* router = nullptr;
  GatewayTimes times;
  std::optional<admission::Settings>
      admission;  ///< A gateway that refuses requests, or holds them.
  domain::LabelSets label_sets;
  std::int64_t gateways = 1;
  std::vector<domain::Request> requests;
  bool closed_loop = false;
  std::int64_t threads = 1;
};

core::Duration some_microseconds(std::int64_t most) {
  return core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(0, most + 1));
}

/// Tight enough that requests wait, expire and are refused.
admission::Settings random_admission() {
  admission::Settings settings;
  const char* const names[] = {"always", "priority", "probabilistic", "token-bucket"};
  settings.policy = names[*rc::gen::inRange(0, 4)];
  const auto detectors = admission::detectors();
  settings.saturation_detector =
      detectors[*rc::gen::inRange<std::size_t>(0, detectors.size())].name;
  const auto fairness = admission::fairness_policies();
  settings.fairness_policy = fairness[*rc::gen::inRange<std::size_t>(0, fairness.size())].name;
  const auto orders = admission::dispatch_orders();
  settings.dispatch_order = orders[*rc::gen::inRange<std::size_t>(0, orders.size())];
  settings.flow_control = *rc::gen::arbitrary<bool>();
  settings.queue_depth_threshold = *rc::gen::inRange(1, 4);
  settings.metrics_staleness_threshold = some_microseconds(5000);
  settings.max_concurrency = *rc::gen::inRange(1, 5);
  settings.token_bucket_capacity = *rc::gen::inRange(300, 2'000);
  settings.token_bucket_refill_rate = *rc::gen::inRange(1'000, 1'000'000);
  settings.min_ceiling = *rc::gen::inRange(0, 101) / 100.0;
  settings.request_ttl = core::Duration::microseconds(1) + some_microseconds(50'000);
  settings.expiry_interval = core::Duration::microseconds(1) + some_microseconds(3000);
  settings.dispatch_tick_interval = core::Duration::microseconds(1) + some_microseconds(1500);
  settings.per_band_requests = *rc::gen::inRange(1, 20);
  return settings;
}

RandomCluster random_cluster() {
  RandomCluster all;
  all.options.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 5);
  all.options.max_num_batched_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(64, 512));
  all.options.max_model_len = core::Tokens(512);
  all.options.num_gpu_blocks = core::Blocks(*rc::gen::inRange<std::int64_t>(34, 80));
  all.options.async_scheduling = *rc::gen::arbitrary<bool>();
  all.path.frontend = some_microseconds(30);
  all.costs.per_context = core::Duration::ticks(*rc::gen::inRange<std::int64_t>(0, 1000));
  all.instances = *rc::gen::inRange<std::int64_t>(1, 6);
  const auto routers = routing::routers();
  all.router = &routers[*rc::gen::inRange<std::size_t>(0, routers.size())];
  all.times = {.gateway_latency = some_microseconds(2000),
               .notice_latency = some_microseconds(2000),
               .refresh_interval = core::Duration::microseconds(1) + some_microseconds(4000),
               .kv_events_delay = some_microseconds(*rc::gen::element(0, 4000))};
  all.gateways = *rc::gen::inRange<std::int64_t>(1, 4);
  all.closed_loop = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) {
    all.admission = random_admission();
  }
  const auto count = *rc::gen::inRange<std::uint32_t>(1, 60);
  core::SimTime now;
  for (std::uint32_t id = 0; id < count; ++id) {
    now += some_microseconds(1500);
    domain::Request request;
    request.id = core::RequestId(id);
    request.arrival = now;
    request.prompt_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 540));
    request.output_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 40));
    request.max_tokens = request.output_tokens;
    request.session = core::SessionId(*rc::gen::inRange<std::uint32_t>(0, 4));
    request.prompt = {{*rc::gen::inRange<std::uint64_t>(0, 3),
                       core::Tokens(*rc::gen::inRange<std::int64_t>(1, 256))}};
    request.prompt_tokens = std::max(request.prompt_tokens, request.prompt[0].length);
    request.priority = *rc::gen::inRange(-1, 2);
    domain::LabelSet labels;
    labels.of(domain::Label::kTenant) = *rc::gen::inRange(-1, 3);
    request.label_set = all.label_sets.number_of(labels);
    all.requests.push_back(request);
  }
  return all;
}

struct Outcome {
  std::vector<domain::RequestRecord> requests;  ///< In the order of their ids.
  std::map<std::int64_t, std::int64_t> gaps;
  std::int64_t steps = 0;
  std::int64_t ties = 0;
  admission::Totals admission;
};

/// Three tenants, the last of which is not listed.
domain::Tenants tenants_of(const RandomCluster& all) {
  return {{{.name = "0", .share = 2.0, .ttft = core::Duration::milliseconds(20)},
           {.name = "1", .priority = -1, .requests_per_minute = 15}},
          &all.label_sets,
          [](std::int32_t label) { return std::to_string(label); }};
}

Gateway::Routers routers_of(const RandomCluster& all, std::int64_t count) {
  Gateway::Routers routers;
  for (std::int64_t gateway = 0; gateway < count; ++gateway) {
    routers.push_back(all.router->make({.gateways = all.gateways, .gateway = gateway}));
  }
  return routers;
}

/// Sends each request at its time, or, in a closed loop, when the one two before it has ended.
Outcome run(const RandomCluster& all, bool eager, bool jump, bool audit = false) {
  test::RecordingSink sink;
  const test::LinearModel model(all.costs);
  const engine::HostTime host;
  domain::Tenants tenants = tenants_of(all);
  AdmissionPart* admission = nullptr;
  std::vector<PartMaker> parts;
  if (all.admission) {
    parts.push_back({.kind = PartKind::kAdmission, .make = [&](Fleet& fleet) {
                       auto part =
                           std::make_unique<AdmissionPart>(fleet, *all.admission, tenants, 3);
                       admission = part.get();
                       return part;
                     }});
  }
  Gateway::Routers routers = routers_of(all, all.gateways);
  std::unique_ptr<routing::Router> first = std::move(routers.front());
  routers.erase(routers.begin());
  Cluster cluster(
      {.instance = {.engine = {.options = all.options, .model = model, .host = host, .sink = sink},
                    .path = all.path,
                    .id = {},
                    .core = eager ? engine::EngineCore::kReference : engine::EngineCore::kFast,
                    .jump = jump},
       .num_instances = all.instances,
       .router = std::move(first),
       .times = all.times,
       .more_routers = std::move(routers),
       .split = GatewaySplit::kSession,
       .audit = audit ? routers_of(all, all.gateways) : Gateway::Routers(),
       .seed = 7,
       .eager = eager,
       .threads = all.threads,
       .parts = std::move(parts)});
  constexpr std::int64_t kSegments = 50;
  constexpr std::size_t kClients = 3;
  std::size_t sent = 0;
  while (true) {
    core::SimTime limit = core::SimTime::never();
    if (!all.closed_loop) {
      for (; sent < all.requests.size(); ++sent) {
        cluster.submit(all.requests[sent]);
      }
    }
    for (; sent < all.requests.size() && sent < sink.requests.size() + kClients; ++sent) {
      domain::Request request = all.requests[sent];
      request.arrival = cluster.now();
      cluster.submit(request);
    }
    const Pause pause = cluster.advance(limit, all.closed_loop, kSegments);
    RC_ASSERT(pause != Pause::kHorizon);
    if (pause == Pause::kIdle && sent == all.requests.size()) {
      break;
    }
  }
  Outcome outcome{.requests = sink.requests,
                  .gaps = sink.gaps,
                  .steps = cluster.totals().steps,
                  .ties = cluster.routing().ties,
                  .admission = admission == nullptr ? admission::Totals() : admission->totals()};
  std::ranges::sort(outcome.requests, {}, &domain::RequestRecord::id);
  const auto& rejected = outcome.admission.rejected;
  const std::int64_t refused = std::accumulate(rejected.begin(), rejected.end(), std::int64_t{0});
  RC_ASSERT(cluster.routing().decisions + refused ==
            static_cast<std::int64_t>(all.requests.size()));
  RC_ASSERT(!admission || outcome.admission.admitted == cluster.routing().decisions);
  return outcome;
}

RC_GTEST_PROP(Clusters, SettledLazilyGiveWhatTheReferenceGives, ()) {
  RandomCluster all = random_cluster();
  const Outcome reference = run(all, true, false);
  RC_ASSERT(reference.requests.size() == all.requests.size());
  for (const bool jump : {true, false}) {
    all.threads = jump ? 2 : 1;
    const Outcome lazy = run(all, false, jump);
    RC_ASSERT(lazy.requests == reference.requests);
    RC_ASSERT(lazy.gaps == reference.gaps);
    RC_ASSERT(lazy.steps == reference.steps);
    RC_ASSERT(run(all, false, jump, true).requests == reference.requests);
    RC_ASSERT(lazy.ties == reference.ties);
    RC_ASSERT(lazy.admission.rejected == reference.admission.rejected);
  }
}

/// One instance leaves nothing to choose: every policy gives the run of the first.
RC_GTEST_PROP(Clusters, OfOneInstanceAreEqualUnderEveryPolicy, ()) {
  RandomCluster all = random_cluster();
  all.instances = 1;
  const Outcome first = run(all, false, true);
  for (const routing::RouterEntry& router : routing::routers()) {
    all.router = &router;
    RC_ASSERT(run(all, false, true).requests == first.requests);
  }
}

}  // namespace
}  // namespace ridgeline::cluster
