// What a preempted request finds of its own when it comes back.
#include <cstdint>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"

namespace ridgeline::engine::vllm::fast {
namespace {

/// Ten blocks of four tokens. Request 0 had five blocks, of which the first four have keys; it was
/// preempted, so that they stand behind the five that are free.
class OwnBlocks : public testing::Test, protected PrefixCache::Keyed {
 protected:
  OwnBlocks() {
    PrefixCache::begin_own_table(table_);
    cache_.allocate(5, kOwner);
    cache_.set_keyed(table_, kOwner, 4);
    cache_.release_own(table_, kOwner, 5, 4, kContent, true);
  }

  static constexpr PrefixCache::Owner kOwner = 0;
  static constexpr PrefixCache::OwnContent kContent{
      .id = core::RequestId(7), .lora = {}, .prompt_tokens = core::Tokens(18)};

  PrefixCache cache_{{.num_gpu_blocks = core::Blocks(11), .block_size = core::Tokens(4)}, *this};
  PrefixCache::Table table_;
  PrefixCache::Match match_;

 private:
  [[nodiscard]] std::int64_t keyed_blocks(PrefixCache::Owner /*owner*/) const override { return 4; }
};

TEST_F(OwnBlocks, ItComesBackForWhatHasKeys) {
  ASSERT_EQ(cache_.num_free(), 10);
  cache_.find_left_blocks(kOwner, 9, match_);
  EXPECT_EQ(match_.blocks, 4);
  EXPECT_EQ(match_.free_blocks, 4);
  EXPECT_FALSE(match_.next_is_cached);
  cache_.adopt_left_blocks(table_, kOwner, match_);
  EXPECT_EQ(cache_.num_free(), 6) << "the fifth, without a key, holds nothing";
  EXPECT_EQ(cache_.num_left_blocks(kOwner), 0);
  cache_.allocate(6);
  EXPECT_EQ(cache_.num_free(), 0);
}

TEST_F(OwnBlocks, EvictionTakesTheDeepestFirst) {
  cache_.allocate(5);  // Those that were free before it gave its own back.
  EXPECT_EQ(cache_.num_left_blocks(kOwner), 4);
  cache_.allocate(1);  // The one without a key.
  EXPECT_EQ(cache_.num_left_blocks(kOwner), 4);
  cache_.allocate(3);
  EXPECT_EQ(cache_.num_left_blocks(kOwner), 1);
  cache_.find_left_blocks(kOwner, 9, match_);
  cache_.adopt_left_blocks(table_, kOwner, match_);
  EXPECT_EQ(cache_.num_free(), 0);
}

/// 3,000 blocks pass through forty requests of 100: the first 3,000 taken held nothing, the next
/// 1,000 were those of requests 0 to 9. Of request 10 half is taken when one comes that will be
/// back, so that 50 and 29 times 100 blocks stand before its own.
TEST_F(OwnBlocks, CountedBlocksAreTakenBeforeARequestComesBack) {
  PrefixCache cache({.num_gpu_blocks = core::Blocks(3001), .block_size = core::Tokens(4)}, *this);
  PrefixCache::Table table;
  PrefixCache::begin_own_table(table);
  for (int request = 0; request < 40; ++request) {
    cache.allocate(100, kOwner);
    EXPECT_EQ(cache.num_free(), 2900);
    cache.release_own(table, kOwner, 100, 100, kContent, false);
  }
  cache.allocate(50, kOwner);
  cache.release_own(table, kOwner, 50, 50, kContent, true);
  ASSERT_EQ(cache.num_free(), 3000);
  EXPECT_EQ(cache.num_left_blocks(kOwner), 50);
  cache.allocate(2950);
  EXPECT_EQ(cache.num_left_blocks(kOwner), 50);
  cache.allocate(1);
  EXPECT_EQ(cache.num_left_blocks(kOwner), 49);
  // As soon as no request can come back, blocks are only counted again.
  cache.abandon_left_blocks(kOwner);
  cache.allocate(49);
  EXPECT_EQ(cache.num_free(), 0);
}

TEST_F(OwnBlocks, OneBlockIsLeftToCompute) {
  cache_.find_left_blocks(kOwner, 3, match_);
  EXPECT_EQ(match_.blocks, 3);
  EXPECT_TRUE(match_.next_is_cached);
}

TEST_F(OwnBlocks, NothingIsLeftOfWhatWasEvictedOrGivenUp) {
  cache_.abandon_left_blocks(kOwner);
  EXPECT_EQ(cache_.num_left_blocks(kOwner), 0);
  EXPECT_EQ(cache_.num_free(), 10) << "the blocks are there, but have no owner";
  cache_.release_own(table_, 3, 0, 0, kContent, true);
  EXPECT_EQ(cache_.num_left_blocks(3), 0);
}

TEST_F(OwnBlocks, PublishedBlocksAreFoundByTheirKeys) {
  cache_.make_left_blocks_findable(table_, kOwner, kContent);
  EXPECT_EQ(cache_.num_left_blocks(kOwner), 0);
  EXPECT_FALSE(table_.own);
  Chain same;
  same.assign_unique(kContent.id, kContent.lora, kContent.prompt_tokens);
  cache_.find(same, 9, 9, match_);
  EXPECT_EQ(match_.blocks, 4);
  EXPECT_EQ(match_.free_blocks, 4);
  Chain other;
  other.assign_unique(core::RequestId(8), kContent.lora, kContent.prompt_tokens);
  cache_.find(other, 9, 9, match_);
  EXPECT_EQ(match_.blocks, 0);
}

}  // namespace
}  // namespace ridgeline::engine::vllm::fast
