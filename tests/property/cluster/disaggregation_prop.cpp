#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/disaggregation.hpp"
#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "disaggregation/deciders/deciders.hpp"
#include "disaggregation/registry.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/server.hpp"
#include "link/kv_link.hpp"
#include "random_cluster.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"
#include "support/disaggregated.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

using test::ended;
using test::Ended;
using test::random_costs;
using test::random_engine;
using test::random_requests;
using test::random_times;
using test::up_to_microseconds;

/// A small cluster with prefill and decode apart, and its requests, of which some are given up.
struct RandomHandOvers {
  engine::EngineOptions options;
  test::LinearModel::Costs costs;
  std::int64_t decode_instances = 1;
  GatewayTimes times;
  test::DisaggregationSetup setup;
  std::vector<domain::Request> requests;
  std::vector<test::Abort> aborts;
};

/// Requests, of which some are given up.
void add_requests(RandomHandOvers& all) {
  all.requests = random_requests(50, 2500);
  for (const domain::Request& request : all.requests) {
    if (*rc::gen::inRange(0, 6) == 0) {
      all.aborts.push_back({.at = request.arrival + up_to_microseconds(30'000), .id = request.id});
    }
  }
  std::ranges::stable_sort(all.aborts, {}, &test::Abort::at);
}

RandomHandOvers random_hand_overs() {
  RandomHandOvers all;
  all.options = random_engine();
  all.options.kv_transfer = true;
  all.options.profile =
      *engine::find_profile(*rc::gen::element<std::string>("0.11", "0.20", "0.27"));
  all.costs = random_costs();
  all.decode_instances = *rc::gen::inRange<std::int64_t>(1, 4);
  all.times = random_times();
  const bool counts = *rc::gen::arbitrary<bool>();
  all.setup = {
      .prefill_instances = *rc::gen::inRange<std::int64_t>(1, 4),
      .prefill_router = counts ? routing::make_least_request : routing::make_round_robin,
      .times = all.times,
      .decider = disaggregation::make_prefix_based,
      .parameters = {.non_cached_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 100))},
      .order = *rc::gen::element(disaggregation::LegOrder::kDecodeFirst,
                                 disaggregation::LegOrder::kPrefillFirst),
      .first_token = *rc::gen::element(disaggregation::FirstToken::kPrefill,
                                       disaggregation::FirstToken::kDecode)};
  all.setup.transfer = {
      .topology = {.network_card = 1'000'000 * *rc::gen::inRange<std::int64_t>(1, 50),
                   .fabric = *rc::gen::element<std::int64_t>(0, 5'000'000),
                   .instances_per_host = *rc::gen::inRange<std::int64_t>(1, 3)},
      .sharing = *rc::gen::element(link::Sharing::kMaxMin, link::Sharing::kFifo),
      .bytes_per_block = 1000,
      .setup = up_to_microseconds(500),
      .per_block = up_to_microseconds(10),
      .lease = core::Duration::microseconds(10) + up_to_microseconds(100'000),
      .failure = *rc::gen::element(LoadFailure::kFail, LoadFailure::kRecompute)};
  add_requests(all);
  return all;
}

struct HandedOver {
  Ended ended;
  TransferTotals transfers;
};

HandedOver run(const RandomHandOvers& all, bool eager, bool jump) {
  test::RecordingSink sink;
  const test::LinearModel model(all.costs);
  const engine::HostTime host;
  const engine::RequestPath path;
  const auto part = std::make_shared<Disaggregation*>();
  std::vector<PartMaker> parts;
  parts.push_back(test::disaggregation_part(all.setup, part));
  Cluster cluster(
      {.instance = {.engine = {.options = all.options, .model = model, .host = host, .sink = sink},
                    .path = path,
                    .id = {},
                    .core = eager ? engine::EngineCore::kReference : engine::EngineCore::kFast,
                    .jump = jump},
       .num_instances = all.setup.prefill_instances + all.decode_instances,
       .router = all.setup.prefill_router({}),
       .times = all.times,
       .seed = 7,
       .eager = eager,
       .parts = std::move(parts)});
  for (const domain::Request& request : all.requests) {
    cluster.submit(request);
  }
  for (const test::Abort& abort : all.aborts) {
    cluster.advance(abort.at, false, test::kNoBudget);
    cluster.abort(abort.id, abort.at);
  }
  RC_ASSERT(cluster.advance(core::SimTime::never(), false, test::kNoBudget) ==
            engine::Pause::kIdle);
  return {.ended = ended(sink, cluster.totals().steps), .transfers = (*part)->totals()};
}

RC_GTEST_PROP(HandOvers, SettledLazilyGiveWhatTheReferenceGives, ()) {
  const RandomHandOvers all = random_hand_overs();
  const HandedOver reference = run(all, true, false);
  RC_ASSERT(reference.ended.requests.size() == all.requests.size());
  for (const bool jump : {true, false}) {
    const HandedOver lazy = run(all, false, jump);
    RC_ASSERT(lazy.ended == reference.ended);
    RC_ASSERT(lazy.transfers == reference.transfers);
  }
}

}  // namespace
}  // namespace ridgeline::cluster
