#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "cluster/cluster.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
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
  std::int64_t gateways = 1;
  std::vector<domain::Request> requests;
  bool closed_loop = false;
  std::int64_t threads = 1;
};

core::Duration some_microseconds(std::int64_t most) {
  return core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(0, most + 1));
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
    all.requests.push_back(request);
  }
  return all;
}

struct Outcome {
  std::vector<domain::RequestRecord> requests;  ///< In the order of their ids.
  std::map<std::int64_t, std::int64_t> gaps;
  std::int64_t steps = 0;
  std::int64_t ties = 0;
};

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
       .threads = all.threads});
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
                  .ties = cluster.routing().ties};
  std::ranges::sort(outcome.requests, {}, &domain::RequestRecord::id);
  RC_ASSERT(cluster.routing().decisions == static_cast<std::int64_t>(all.requests.size()));
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
