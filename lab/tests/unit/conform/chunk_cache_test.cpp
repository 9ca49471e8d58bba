// Chunks of KV in a host's memory, as vLLM's releases keep them.
#include "lab/conform/chunk_cache.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::conform {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Keys = std::vector<BlockKey>;

/// A request that uses chunks by their keys, which are their places too.
ChunkUses uses_of(const Keys& keys) {
  ChunkUses uses;
  for (const BlockKey key : keys) {
    uses.places[key] = static_cast<std::int64_t>(key % 10);
  }
  return uses;
}

/// Stores chunks at once.
std::vector<std::int64_t> store(ChunkCache& cache, ChunkUses& uses, const Keys& keys) {
  const auto write = cache.begin_write(keys, uses);
  if (!write) {
    return {-1};
  }
  cache.end_write(write->keys);
  return write->places;
}

TEST(ChunkCache, AChunkCanBeReadOnceItIsWritten) {
  ChunkCache cache({}, 4);
  ChunkUses uses = uses_of({1, 2});
  EXPECT_EQ(cache.look_up(1), ChunkCache::Found::kNo);
  const auto write = cache.begin_write(Keys{1, 2}, uses);
  EXPECT_THAT(write->places, ElementsAre(0, 1));
  EXPECT_EQ(cache.look_up(1), ChunkCache::Found::kBeingWritten);
  cache.end_write(write->keys);
  EXPECT_EQ(cache.look_up(1), ChunkCache::Found::kWritten);
  EXPECT_THAT(cache.begin_read(Keys{2}, uses), ElementsAre(1));
}

TEST(ChunkCache, WhatIsReadOrWrittenStays) {
  ChunkCache cache({}, 2);
  ChunkUses uses = uses_of({1, 2, 3});
  store(cache, uses, {1, 2});
  cache.begin_read(Keys{1}, uses);
  EXPECT_THAT(store(cache, uses, {3}), ElementsAre(1));
  EXPECT_EQ(cache.look_up(2), ChunkCache::Found::kNo);
  // A store that finds no room for all of it is skipped as a whole.
  ChunkUses other = uses_of({4, 5});
  EXPECT_THAT(store(cache, other, {4, 5}), ElementsAre(-1));
  EXPECT_EQ(cache.look_up(3), ChunkCache::Found::kWritten);
}

TEST(ChunkCache, AThresholdCountsLookUpsOrOffers) {
  ChunkCache look_ups({.store_threshold = 2}, 4);
  ChunkUses uses = uses_of({1});
  EXPECT_THAT(store(look_ups, uses, {1}), IsEmpty());
  look_ups.look_up(1);
  look_ups.look_up(1);
  EXPECT_THAT(store(look_ups, uses, {1}), ElementsAre(0));
  ChunkCache offers({.store_threshold = 2, .counts_offers = true}, 4);
  offers.look_up(1);
  EXPECT_THAT(store(offers, uses, {1}), IsEmpty());
  EXPECT_THAT(store(offers, uses, {1}), ElementsAre(0));
}

TEST(ChunkCache, TailsOfARequestGiveWayBeforeHeads) {
  for (const bool ranks_running : {false, true}) {
    ChunkCache cache({.follows_requests = true, .ranks_running = ranks_running}, 4);
    ChunkUses a = uses_of({11, 12});
    ChunkUses b = uses_of({21, 22});
    store(cache, a, {11, 12});
    store(cache, b, {21, 22});
    ChunkUses c = uses_of({31});
    // While A runs, its tail goes first only where running requests rank their chunks.
    store(cache, c, {31});
    EXPECT_EQ(cache.look_up(ranks_running ? 12 : 11), ChunkCache::Found::kNo);
    cache.finish(b);
    cache.finish(c);
    cache.finish(a);
    ChunkUses d = uses_of({41});
    store(cache, d, {41});
    EXPECT_EQ(cache.look_up(22), ChunkCache::Found::kNo);
    EXPECT_EQ(cache.look_up(21), ChunkCache::Found::kWritten);
  }
}

}  // namespace
}  // namespace ridgeline::conform
