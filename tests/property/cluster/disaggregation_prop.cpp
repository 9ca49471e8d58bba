#include <algorithm>
#include <cstdint>
#include <map>
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
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/server.hpp"
#include "link/kv_link.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"
#include "support/disaggregated.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

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

core::Duration up_to_microseconds(std::int64_t most) {
  return core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(0, most + 1));
}

void add_requests(RandomHandOvers& all) {
  const auto count = *rc::gen::inRange<std::uint32_t>(1, 50);
  core::SimTime now;
  for (std::uint32_t id = 0; id < count; ++id) {
    now += up_to_microseconds(2500);
    domain::Request request;
    request.id = core::RequestId(id);
    request.arrival = now;
    request.prompt_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 540));
    request.output_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 40));
    request.max_tokens = request.output_tokens;
    request.prompt = {{*rc::gen::inRange<std::uint64_t>(0, 3),
                       core::Tokens(*rc::gen::inRange<std::int64_t>(1, 256))}};
    request.prompt_tokens = std::max(request.prompt_tokens, request.prompt[0].length);
    all.requests.push_back(request);
    if (*rc::gen::inRange(0, 6) == 0) {
      all.aborts.push_back({.at = now + up_to_microseconds(30'000), .id = request.id});
    }
  }
  std::ranges::stable_sort(all.aborts, {}, &test::Abort::at);
}

RandomHandOvers random_hand_overs() {
  RandomHandOvers all;
  all.options.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 5);
  all.options.max_num_batched_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(64, 512));
  all.options.max_model_len = core::Tokens(512);
  all.options.num_gpu_blocks = core::Blocks(*rc::gen::inRange<std::int64_t>(34, 80));
  all.options.async_scheduling = *rc::gen::arbitrary<bool>();
  all.options.kv_transfer = true;
  all.options.profile =
      *engine::find_profile(*rc::gen::element<std::string>("0.11", "0.20", "0.27"));
  all.costs.per_context = core::Duration::ticks(*rc::gen::inRange<std::int64_t>(0, 1000));
  all.decode_instances = *rc::gen::inRange<std::int64_t>(1, 4);
  all.times = {.gateway_latency = up_to_microseconds(2000),
               .notice_latency = up_to_microseconds(2000),
               .refresh_interval = core::Duration::microseconds(1) + up_to_microseconds(4000)};
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
  std::vector<domain::RequestRecord> requests;  ///< In the order of their ids.
  std::map<std::int64_t, std::int64_t> gaps;
  std::int64_t steps = 0;
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
  HandedOver outcome{.requests = sink.requests,
                     .gaps = sink.gaps,
                     .steps = cluster.totals().steps,
                     .transfers = (*part)->totals()};
  std::ranges::sort(outcome.requests, {}, &domain::RequestRecord::id);
  return outcome;
}

RC_GTEST_PROP(HandOvers, SettledLazilyGiveWhatTheReferenceGives, ()) {
  const RandomHandOvers all = random_hand_overs();
  const HandedOver reference = run(all, true, false);
  RC_ASSERT(reference.requests.size() == all.requests.size());
  for (const bool jump : {true, false}) {
    const HandedOver lazy = run(all, false, jump);
    RC_ASSERT(lazy.requests == reference.requests);
    RC_ASSERT(lazy.gaps == reference.gaps);
    RC_ASSERT(lazy.steps == reference.steps);
    RC_ASSERT(lazy.transfers == reference.transfers);
  }
}

}  // namespace
}  // namespace ridgeline::cluster
