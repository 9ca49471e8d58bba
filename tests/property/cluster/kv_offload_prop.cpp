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
#include "cluster/gateway.hpp"
#include "cluster/kv_offload.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/server.hpp"
#include "random_cluster.hpp"
#include "routing/policies/policies.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/offloaded.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::cluster {
namespace {

/// A small cluster with tiers, and requests that share prompts, of which some are given up.
struct RandomTiers {
  engine::EngineOptions options;
  test::LinearModel::Costs costs;
  std::int64_t instances = 1;
  GatewayTimes times;
  OffloadOptions offload;
  bool recomputes = false;
  std::vector<domain::Request> requests;
  std::vector<test::Abort> aborts;
};

void add_requests(RandomTiers& all) {
  const auto count = *rc::gen::inRange<std::uint32_t>(1, 60);
  core::SimTime now;
  for (std::uint32_t id = 0; id < count; ++id) {
    now += test::up_to_microseconds(4000);
    domain::Request request;
    request.id = core::RequestId(id);
    request.arrival = now;
    request.prompt = {{*rc::gen::inRange<std::uint64_t>(0, 5),
                       core::Tokens(*rc::gen::inRange<std::int64_t>(1, 320))}};
    request.prompt_tokens =
        request.prompt[0].length + core::Tokens(*rc::gen::inRange<std::int64_t>(0, 40));
    request.output_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 40));
    request.max_tokens = request.output_tokens;
    all.requests.push_back(request);
    if (*rc::gen::inRange(0, 6) == 0) {
      all.aborts.push_back({.at = now + test::up_to_microseconds(30'000), .id = request.id});
    }
  }
  std::ranges::stable_sort(all.aborts, {}, &test::Abort::at);
}

RandomTiers random_tiers() {
  RandomTiers all;
  all.options.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 5);
  all.options.max_num_batched_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(64, 512));
  all.options.max_model_len = core::Tokens(512);
  all.options.num_gpu_blocks = core::Blocks(*rc::gen::inRange<std::int64_t>(34, 80));
  all.options.async_scheduling = *rc::gen::arbitrary<bool>();
  all.options.kv_transfer = true;
  all.options.profile =
      *engine::find_profile(*rc::gen::element<std::string>("0.11", "0.20", "0.27"));
  all.costs.per_context = core::Duration::ticks(*rc::gen::inRange<std::int64_t>(0, 1000));
  all.instances = *rc::gen::inRange<std::int64_t>(1, 4);
  all.times = {.gateway_latency = test::up_to_microseconds(1000),
               .notice_latency = test::up_to_microseconds(1000)};
  all.offload = test::random_tiers();
  all.recomputes = *rc::gen::arbitrary<bool>();
  add_requests(all);
  return all;
}

struct Offloaded {
  std::vector<domain::RequestRecord> requests;  ///< In the order of their ids.
  std::map<std::int64_t, std::int64_t> gaps;
  std::int64_t steps = 0;
  engine::InstanceState state;
  OffloadTotals totals;
};

Offloaded run(const RandomTiers& all, bool eager, bool jump) {
  test::RecordingSink sink;
  const test::LinearModel model(all.costs);
  const engine::HostTime host;
  const engine::RequestPath path;
  const auto part = std::make_shared<KvOffload*>();
  OffloadOptions offload = all.offload;
  offload.recompute = all.recomputes ? &model : nullptr;
  std::vector<PartMaker> parts;
  parts.push_back(test::offload_part(offload, part));
  Cluster cluster(
      {.instance = {.engine = {.options = all.options, .model = model, .host = host, .sink = sink},
                    .path = path,
                    .id = {},
                    .core = eager ? engine::EngineCore::kReference : engine::EngineCore::kFast,
                    .jump = jump},
       .num_instances = all.instances,
       .router = routing::make_least_request(),
       .times = all.times,
       .seed = 7,
       .eager = eager,
       .parts = std::move(parts)});
  test::run_to_the_end(cluster, all.requests, all.aborts);
  // What is still written is over a second later, and then no block is held.
  const core::SimTime later = cluster.now() + core::Duration::seconds(1);
  static_cast<void>(cluster.advance(later, false, test::kNoBudget));
  Offloaded outcome{.requests = sink.requests,
                    .gaps = sink.gaps,
                    .steps = cluster.totals().steps,
                    .state = cluster.state(later),
                    .totals = (*part)->totals()};
  std::ranges::sort(outcome.requests, {}, &domain::RequestRecord::id);
  return outcome;
}

RC_GTEST_PROP(OffloadedKv, SettledLazilyGivesWhatTheReferenceGives, ()) {
  const RandomTiers all = random_tiers();
  const Offloaded reference = run(all, true, false);
  RC_ASSERT(reference.requests.size() == all.requests.size());
  RC_ASSERT(reference.state.used_blocks == core::Blocks(0));
  for (const bool jump : {true, false}) {
    const Offloaded lazy = run(all, false, jump);
    RC_ASSERT(lazy.requests == reference.requests);
    RC_ASSERT(lazy.gaps == reference.gaps);
    RC_ASSERT(lazy.steps == reference.steps);
    RC_ASSERT(lazy.state.used_blocks == core::Blocks(0));
    RC_ASSERT(lazy.totals == reference.totals);
  }
  // Bytes are those of the blocks that moved; hits come from tiers.
  std::int64_t hits = 0;
  for (const TierUse& tier : reference.totals.tiers) {
    hits += tier.hit_blocks;
    RC_ASSERT(tier.bytes_read == tier.hit_blocks * all.offload.bytes_per_block);
    RC_ASSERT(tier.bytes_written <=
              tier.blocks.written * all.offload.blocks_per_chunk * all.offload.bytes_per_block);
    RC_ASSERT(tier.blocks.peak <= tier.capacity);
  }
  RC_ASSERT(hits == reference.totals.hits);
}

}  // namespace
}  // namespace ridgeline::cluster
