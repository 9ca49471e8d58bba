// In which order idle chunks give way.
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/conform/chunk_cache.hpp"

namespace ridgeline::conform {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Keys = std::vector<BlockKey>;

bool any(BlockKey /*key*/) {
  return true;
}

TEST(ChunkOrder, WhatWasTouchedOrBecameIdleLastStays) {
  const auto order = make_chunk_order({}, 4);
  ChunkUses uses;
  for (const BlockKey key : {1U, 2U, 3U}) {
    order->insert(key, uses);
    order->set_idle(key, true);
  }
  // Touched from the last to the first.
  order->touch(Keys{1, 2}, any);
  EXPECT_THAT(order->evict(2, any), ElementsAre(3, 2));
  EXPECT_THAT(order->evict(2, any), IsEmpty()) << "fewer may go: none does";
  EXPECT_THAT(order->evict(1, any), ElementsAre(1));
}

TEST(ChunkOrder, AdaptiveKeepsWhatWasUsedAgain) {
  const auto order = make_chunk_order({.is_adaptive = true}, 4);
  ChunkUses uses;
  for (const BlockKey key : {1U, 2U}) {
    order->insert(key, uses);
  }
  order->touch(Keys{1}, any);
  EXPECT_THAT(order->evict(1, any), ElementsAre(2));
  // A chunk that was given up is missed: what was used once gets room for one.
  order->touch(Keys{2}, any);
  order->insert(2, uses);
  EXPECT_THAT(order->evict(1, any), ElementsAre(2));
  EXPECT_THAT(order->evict(1, any), ElementsAre(1));
}

TEST(ChunkOrder, AdaptiveTakesFromEitherListFrom030On) {
  for (const bool either : {false, true}) {
    const auto order = make_chunk_order({.is_adaptive = true, .gives_up_either = either}, 4);
    ChunkUses uses;
    order->insert(1, uses);
    EXPECT_THAT(order->evict(1, any), ElementsAre(1));
    order->miss(Keys{1});  // Room for one that is used once.
    order->miss(Keys{1});  // For two.
    order->insert(2, uses);
    EXPECT_EQ(order->evict(1, any).size(), either ? 1U : 0U);
  }
}

TEST(ChunkOrder, AStoreIsNoReuseWhereRequestsAreFollowed) {
  const auto order = make_chunk_order({.is_adaptive = true, .follows_requests = true}, 4);
  ChunkUses uses;
  order->insert(1, uses);
  order->insert(2, uses);
  uses.inserted = {1, 2};
  uses.reused = {1};
  order->finish(Keys{1, 2}, uses);
  EXPECT_THAT(order->evict(2, any), ElementsAre(2, 1));
}

}  // namespace
}  // namespace ridgeline::conform
