#include "cluster/kv_offload.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "cluster/part.hpp"
#include "cluster/store/policies/policies.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/drive.hpp"
#include "support/offloaded.hpp"
#include "support/routers.hpp"
#include "tiers.hpp"

namespace ridgeline::cluster {
namespace {

/// A load takes the latency and bytes over rate; then one token is computed.
TEST_F(Tiers, APromptThatTheHostHasIsLoadedNotComputed) {
  offload_.tiers[kHost] = tier(100, Duration::microseconds(100));
  ask(0, 1, 64);       // A step of 1,640 us; its four blocks are written to the host.
  ask(6'000, 2, 127);  // Takes all eight blocks of the GPU, seven of them full.
  ask(20'000, 1, 64);
  run();
  EXPECT_EQ(record(0).first_token, instant_us(1'640));
  EXPECT_EQ(record(2).first_token, instant_us(20'000 + 100 + 4'000 + 1'010));
  EXPECT_EQ(record(2).cached_tokens, core::Tokens(63));
  EXPECT_EQ(totals_.queries, kBlock * (4 + 7 + 4));
  EXPECT_EQ(totals_.hits, kBlock * 4);
  EXPECT_EQ(totals_.loads, 1);
  EXPECT_EQ(totals_.load_time, Duration::microseconds(4'100));
  EXPECT_EQ(totals_.tiers[kHost].bytes_read, 4'000);
  EXPECT_EQ(totals_.tiers[kHost].bytes_written, 11'000);
  EXPECT_EQ(totals_.tiers[kHost].write_link_bytes, 11'000);
  EXPECT_EQ(totals_.tiers[kHost].read_time, Duration::microseconds(4'000));
}

/// The blocks of a request that has left stay until they are written; another request waits.
TEST_F(Tiers, BlocksStayUntilTheyAreWritten) {
  ask(0, 1, 64);
  ask(2'000, 2, 127);
  run();
  EXPECT_EQ(record(0).last_token, instant_us(1'640));
  EXPECT_EQ(record(1).first_scheduled, instant_us(1'640 + 4'000) + kOneTick);
}

/// What the GPU holds still is not loaded, and of the rest no more than is missing.
TEST_F(Tiers, OnlyWhatTheGpuLacksIsLoaded) {
  ask(0, 1, 64);
  ask(10'000, 2, 80);  // Five blocks: the four that were never used, and the last of the first.
  ask(20'000, 1, 65);
  run();
  EXPECT_EQ(record(2).cached_tokens, core::Tokens(64));
  EXPECT_EQ(totals_.tiers[kHost].hits, kBlock * 1);
  EXPECT_EQ(record(2).first_token, instant_us(20'000 + 1'000 + 1'010) + kOneTick);
}

/// Whole blocks of a tier alone are stored and found.
TEST_F(Tiers, ABlockOfATierIsSeveralOfTheEngine) {
  offload_.layouts[0].blocks_per_chunk = 3;
  ask(0, 1, 64);
  ask(10'000, 2, 127);
  ask(30'000, 1, 64);
  run();
  EXPECT_EQ(totals_.tiers[kHost].blocks.written, 1 + 2);
  EXPECT_EQ(totals_.tiers[kHost].hits, kBlock * 3);
  EXPECT_EQ(record(2).cached_tokens, core::Tokens(48));
}

TEST_F(Tiers, FewBlocksAreComputed) {
  offload_.rules.min_hit_blocks = 5;
  ask(0, 1, 64);
  ask(10'000, 2, 127);
  ask(30'000, 1, 64);
  run();
  EXPECT_EQ(totals_.hits, kBlock * 0);
  EXPECT_EQ(record(2).first_token, instant_us(30'000 + 1'640));
}

TEST_F(Tiers, WhatIsComputedSoonerIsNotLoaded) {
  offload_.layouts[0].recompute = &model_;
  ask(0, 1, 16);  // A block: loaded in 1,000 us, computed in 1,160.
  ask(10'000, 2, 127);
  ask(30'000, 1, 17);
  ask(40'000, 3, 127);
  ask(60'000, 2, 127);  // Seven blocks: 7,000 us against 2,120.
  run();
  EXPECT_EQ(record(2).cached_tokens, core::Tokens(16));
  EXPECT_EQ(record(4).cached_tokens, core::Tokens(0));
  EXPECT_EQ(totals_.tiers[kHost].hits, kBlock * 1);
  EXPECT_EQ(totals_.recomputed, 1);
}

/// vLLM's filter: a block is stored when it is wanted for the second time.
TEST_F(Tiers, WhatIsWantedOnceIsNotStored) {
  offload_.rules.store_threshold = 2;
  for (std::int64_t i = 0; i < 3; ++i) {
    ask(40'000 * i, 1, 64);
    ask(40'000 * i + 20'000, static_cast<std::uint64_t>(10 + i), 127);
  }
  run();
  EXPECT_EQ(record(2).cached_tokens, core::Tokens(0));
  EXPECT_EQ(record(4).cached_tokens, core::Tokens(63));
  EXPECT_EQ(totals_.tiers[kHost].blocks.written, 4);
}

/// Closed form: prompts of one block in a cycle, each of which the GPU has lost again. A host with
/// room for all of them hits from the second round on; with room for one less, never.
TEST_F(Tiers, LruUnderACycleHitsAlwaysOrNever) {
  constexpr std::int64_t kPrompts = 5;
  constexpr std::int64_t kRounds = 4;
  options_.num_gpu_blocks = core::Blocks(3);
  for (std::int64_t i = 0; i < kPrompts * kRounds; ++i) {
    ask(10'000 * i, static_cast<std::uint64_t>(i % kPrompts), 17);
  }
  offload_.tiers[kHost] = tier(kPrompts);
  run();
  EXPECT_EQ(totals_.queries, kBlock * (kPrompts * kRounds));
  EXPECT_EQ(totals_.hits, kBlock * (kPrompts * (kRounds - 1)));
  sink_ = {};
  offload_.tiers[kHost] = tier(kPrompts - 1);
  run();
  EXPECT_EQ(totals_.hits, kBlock * 0);
  EXPECT_EQ(totals_.tiers[kHost].blocks.evicted, kPrompts * kRounds - (kPrompts - 1));
}

/// Written through: the disk gets all that the host gets. What the host lost is read from there,
/// and is on the host again.
TEST_F(Tiers, ADiskBehindTheHostGetsAllOfItsBlocks) {
  offload_.tiers[kHost] = tier(7);
  offload_.tiers[kDisk] = tier(100);
  ask(0, 1, 64);
  ask(20'000, 2, 127);
  ask(60'000, 1, 64);  // From the disk.
  ask(80'000, 3, 127);
  run();
  EXPECT_EQ(totals_.tiers[kDisk].blocks.written, 4 + 7 + 7);
  EXPECT_EQ(totals_.tiers[kDisk].hits, kBlock * 4);
  EXPECT_EQ(totals_.tiers[kHost].hits, kBlock * 0);
  EXPECT_EQ(record(2).cached_tokens, core::Tokens(63));
  EXPECT_EQ(totals_.tiers[kHost].blocks.written, 4 + 7 + 4 + 7);  // Four of them promoted.
}

/// Written back: the disk gets what gives way on the host.
TEST_F(Tiers, WrittenBackTheDiskGetsWhatGivesWay) {
  offload_.write_back = true;
  offload_.tiers[kHost] = tier(7);
  offload_.tiers[kDisk] = tier(100);
  ask(0, 1, 64);
  ask(20'000, 2, 127);
  ask(60'000, 1, 64);
  run();
  EXPECT_EQ(totals_.tiers[kDisk].hits, kBlock * 4);
  // The first prompt's, and the four that give way when it comes back.
  EXPECT_EQ(totals_.tiers[kDisk].bytes_written, 8'000);
  EXPECT_EQ(totals_.tiers[kHost].blocks.evicted, 8);
}

/// What one instance has computed another loads from the store.
TEST_F(Tiers, InstancesShareTheStore) {
  offload_.tiers[kHost] = {};
  offload_.tiers[kSharedStore] = tier(100);
  ask(0, 1, 64);
  ask(20'000, 1, 64);  // Goes to the other instance.
  run(2);
  EXPECT_EQ(record(1).instance, core::InstanceId(1));
  EXPECT_EQ(record(1).first_token, instant_us(20'000 + 4'000 + 1'010) + kOneTick);
  EXPECT_EQ(totals_.tiers[kSharedStore].hits, kBlock * 4);
  EXPECT_EQ(totals_.tiers[kSharedStore].blocks.written, 4);
}

/// Two loads of one host come one after the other, of two hosts at once.
TEST_F(Tiers, InstancesOfAHostShareItsLink) {
  offload_.instances_per_host = 2;
  for (std::int64_t i = 0; i < 2; ++i) {
    ask(0, static_cast<std::uint64_t>(1 + i), 64);
  }
  for (std::int64_t i = 0; i < 2; ++i) {
    ask(20'000, static_cast<std::uint64_t>(3 + i), 127);
  }
  for (std::int64_t i = 0; i < 2; ++i) {
    ask(60'000, static_cast<std::uint64_t>(1 + i), 64);
  }
  run(2);
  EXPECT_EQ(record(4).first_token, instant_us(60'000 + 4'000 + 1'010) + kOneTick);
  EXPECT_EQ(record(5).first_token, instant_us(60'000 + 8'000 + 1'010) + kOneTick);
}

/// Written to the host 5,640 us after the start, and 4,000 us later to the store. A gateway that
/// reads tiers learns of it with the delay of KV events.
TEST_F(Tiers, GatewaysLearnOfThemLate) {
  offload_.tiers[kSharedStore] = tier(100);
  offload_.layouts[0].blocks_per_chunk = 2;
  ask(0, 1, 64);
  ask(30'000, 1, 64);
  std::vector<PartMaker> parts;
  parts.push_back(test::offload_part(offload_, part_));
  routing::RouterSetup setup;
  Cluster cluster(
      {.instance = {.engine = {.options = options_, .model = model_, .host = host_, .sink = sink_},
                    .path = path_,
                    .id = {}},
       .num_instances = 2,
       .router = routing::maker_of("dynamo")(setup),
       .times = {.kv_events_delay = Duration::milliseconds(5)},
       .parts = std::move(parts)});
  cluster.submit(requests_.front());
  cluster.submit(requests_.back());
  const auto seen = [&](std::int64_t instance, std::int64_t now_us, std::int64_t as_of_us) {
    static_cast<void>(cluster.advance(instant_us(now_us), false, test::kNoBudget));
    return (*part_)->overlap(requests_.front(),
                             core::InstanceId(static_cast<core::InstanceId::Rep>(instance)),
                             {.as_of = instant_us(as_of_us)});
  };
  const routing::TierTokens none;
  static_cast<void>(cluster.advance(instant_us(6'000), false, test::kNoBudget));
  const std::int64_t first =
      (*part_)->overlap(requests_.front(), core::InstanceId(0), {.as_of = instant_us(6'000)})
                  .host == 64
          ? 0
          : 1;
  EXPECT_EQ(seen(first, 6'000, 5'640), none);
  EXPECT_EQ(seen(first, 6'000, 6'000), (routing::TierTokens{.host = 64}));
  EXPECT_EQ(seen(1 - first, 10'000, 9'000), none);
  EXPECT_EQ(seen(1 - first, 10'000, 10'000), (routing::TierTokens{.shared = 64}));
  EXPECT_EQ(seen(first, 10'000, 10'000), (routing::TierTokens{.host = 64, .shared = 64}));
}

}  // namespace
}  // namespace ridgeline::cluster
