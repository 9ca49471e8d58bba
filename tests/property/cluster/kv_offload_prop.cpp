#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
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
#include "cluster/pools.hpp"
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
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/offloaded.hpp"
#include "support/recording_sink.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

constexpr std::int64_t kBytesPerToken = 60;

/// Instances of one kind, in a cluster of several.
struct TierPool {
  std::int64_t instances = 1;
  engine::EngineOptions options;
  test::LinearModel::Costs costs;
};

/// A small cluster with tiers, of instances that are alike, of two pools, or ranks in lock-step;
/// and requests that share prompts, of which some are given up.
struct RandomTiers {
  engine::EngineOptions options;
  test::LinearModel::Costs costs;
  std::int64_t ranks = 1;  ///< Ranks of each group in lock-step.
  std::int64_t instances = 1;
  std::vector<TierPool> pools;
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

/// Two pools with blocks of other sizes, whose KV is of use for each other or not.
void add_pools(RandomTiers& all) {
  all.instances = 0;
  for (int i = 0; i < 2; ++i) {
    TierPool& pool = all.pools.emplace_back();
    pool.instances = *rc::gen::inRange<std::int64_t>(1, 4);
    pool.options = all.options;
    pool.options.block_size = core::Tokens(*rc::gen::element<std::int64_t>(16, 32));
    pool.options.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 5);
    pool.options.async_scheduling = *rc::gen::arbitrary<bool>();
    pool.costs = all.costs;
    pool.costs.step = core::Duration::microseconds(200) + test::up_to_microseconds(2000);
    all.instances += pool.instances;
  }
}

/// As a scenario with pools has them.
void set_layouts(RandomTiers& all) {
  all.offload = test::random_tiers(0);
  all.offload.layouts.resize(1);
  for (std::size_t i = 0; i < all.pools.size(); ++i) {
    const core::Tokens tokens = all.pools[i].options.block_size;
    all.offload.layouts.resize(i + 1, all.offload.layouts.front());
    all.offload.layouts[i].block_tokens = tokens;
    all.offload.layouts[i].bytes_per_block = kBytesPerToken * tokens.value();
    all.offload.layouts[i].key_salt =
        tokens == all.pools[0].options.block_size ? *rc::gen::element<std::uint64_t>(0, i) : i;
    all.offload.layout_of.insert(
        all.offload.layout_of.end(), static_cast<std::size_t>(all.pools[i].instances), i);
  }
  if (all.pools.empty()) {
    all.offload.layouts[0].bytes_per_block = kBytesPerToken * all.options.block_size.value();
  }
  for (TierOptions& tier : all.offload.tiers) {
    for (const KvLayout& layout : all.offload.layouts) {
      const std::int64_t chunk = layout.bytes_per_block * layout.blocks_per_chunk;
      tier.bytes = tier.bytes > 0 ? std::max(tier.bytes, chunk) : 0;
    }
  }
}

RandomTiers random_tiers() {
  RandomTiers all;
  all.options.max_num_seqs = *rc::gen::inRange<std::int64_t>(1, 5);
  all.options.max_num_batched_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(64, 512));
  all.options.max_model_len = core::Tokens(512);
  all.options.num_gpu_blocks = core::Blocks(*rc::gen::inRange<std::int64_t>(34, 80));
  all.options.async_scheduling = *rc::gen::arbitrary<bool>();
  all.options.kv_transfer = all.options.kv_connector = true;
  all.options.profile =
      *engine::find_profile(*rc::gen::element<std::string>("0.11", "0.20", "0.28"));
  all.costs.per_context = core::Duration::ticks(*rc::gen::inRange<std::int64_t>(0, 1000));
  all.ranks = *rc::gen::element<std::int64_t>(1, 1, 2, 3);
  all.instances = all.ranks * *rc::gen::inRange<std::int64_t>(1, all.ranks > 1 ? 3 : 4);
  if (all.ranks == 1 && *rc::gen::arbitrary<bool>()) {
    add_pools(all);
  }
  all.times = {.gateway_latency = test::up_to_microseconds(1000),
               .notice_latency = test::up_to_microseconds(1000)};
  set_layouts(all);
  all.recomputes = *rc::gen::arbitrary<bool>();
  add_requests(all);
  return all;
}

struct Offloaded {
  std::vector<domain::RequestRecord> requests;  ///< In the order of their ids.
  std::map<std::int64_t, std::int64_t> gaps;
  std::int64_t steps = 0;
  std::int64_t dummy_steps = 0;
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
  std::deque<test::LinearModel> models;
  std::vector<InstancePool> pools;
  for (const TierPool& pool : all.pools) {
    pools.push_back({.instances = pool.instances,
                     .options = &pool.options,
                     .model = &models.emplace_back(pool.costs),
                     .host = &host});
  }
  for (std::size_t i = 0; i < offload.layouts.size() && all.recomputes; ++i) {
    offload.layouts[i].recompute = pools.empty() ? &model : pools[i].model;
  }
  std::vector<PartMaker> parts;
  parts.push_back(test::offload_part(offload, part));
  Cluster cluster(
      {.instance = {.engine = {.options = all.options, .model = model, .host = host, .sink = sink},
                    .path = path,
                    .id = {},
                    .core = eager ? engine::EngineCore::kReference : engine::EngineCore::kFast,
                    .jump = jump},
       .num_instances = all.instances,
       .router = routing::maker_of("least-request")({}),
       .times = all.times,
       .seed = 7,
       .eager = eager,
       .parts = std::move(parts),
       .ranks_in_lock_step = all.ranks,
       .pools = std::move(pools)});
  test::run_to_the_end(cluster, all.requests, all.aborts);
  // What is still written is over a second later, and then no block is held.
  const core::SimTime later = cluster.now() + core::Duration::seconds(1);
  static_cast<void>(cluster.advance(later, false, test::kNoBudget));
  Offloaded outcome{.requests = sink.requests,
                    .gaps = sink.gaps,
                    .steps = cluster.totals().steps,
                    .state = cluster.state(later),
                    .totals = (*part)->totals()};
  for (const auto& instance : cluster.instances()) {
    const auto rank = cluster.rank_steps_of(instance->id());
    outcome.dummy_steps += rank ? rank->dummy_steps : 0;
  }
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
    RC_ASSERT(lazy.dummy_steps == reference.dummy_steps);
    RC_ASSERT(lazy.state.used_blocks == core::Blocks(0));
    RC_ASSERT(lazy.totals == reference.totals);
  }
  // Bytes are those of the blocks that moved; hits come from tiers.
  std::int64_t largest = 0;
  for (const KvLayout& layout : all.offload.layouts) {
    largest = std::max(largest, layout.blocks_per_chunk * layout.bytes_per_block);
  }
  core::Tokens hits;
  for (const TierUse& tier : reference.totals.tiers) {
    hits += tier.hits;
    RC_ASSERT(tier.bytes_read == tier.hits.value() * kBytesPerToken);
    RC_ASSERT(tier.bytes_written <= tier.blocks.written * largest);
    RC_ASSERT(tier.blocks.peak <= tier.capacity);
  }
  RC_ASSERT(hits == reference.totals.hits);
  RC_CLASSIFY(hits > core::Tokens(0) && !all.pools.empty(), "loaded in pools");
  RC_CLASSIFY(hits > core::Tokens(0) && all.ranks > 1, "loaded by ranks");
}

}  // namespace
}  // namespace ridgeline::cluster
