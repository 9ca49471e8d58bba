// The block pool of the reference twin.
#include "engine/vllm/plain/kv_cache.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {
namespace {

using core::BlockId;
using testing::ElementsAre;

std::vector<std::uint32_t> ids(const std::vector<BlockId>& blocks) {
  std::vector<std::uint32_t> values;
  for (const auto block : blocks) {
    values.push_back(block.value());
  }
  return values;
}

/// A request of 55 tokens in blocks 1 to 4 (the fourth not full), a second that shares 1 to 3 and
/// has 5 (not full); both freed, the first one first. Recorded from vLLM: see
/// docs/internals/engine.md.
std::vector<std::uint32_t> free_list_after_two_requests(bool free_unhashed_first) {
  vllm::plain::KvCache cache(
      {.num_gpu_blocks = core::Blocks(11), .free_unhashed_first = free_unhashed_first});
  cache.begin_lookups();
  std::vector<BlockId> first;
  for (int i = 0; i < 4; ++i) {
    first.push_back(cache.allocate());
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    cache.set_hash(first[i], 100 + i);
  }
  std::vector<BlockId> second = {*cache.find(100), *cache.find(101), *cache.find(102)};
  EXPECT_FALSE(cache.find(103).has_value());
  cache.touch(second);
  second.push_back(cache.allocate());
  const auto release_deepest_first = [&](std::vector<BlockId> blocks) {
    std::reverse(blocks.begin(), blocks.end());
    cache.release(blocks);
  };
  release_deepest_first(first);
  release_deepest_first(second);
  return ids(cache.free_list());
}

TEST(KvCache, FreedBlocksQueueBehindTheFreeOnesDeepestFirst) {
  EXPECT_THAT(free_list_after_two_requests(false), ElementsAre(6, 7, 8, 9, 10, 4, 5, 3, 2, 1));
}

TEST(KvCache, UnhashedBlocksGoToTheHeadWhereTheProfileSaysSo) {
  EXPECT_THAT(free_list_after_two_requests(true), ElementsAre(5, 4, 6, 7, 8, 9, 10, 3, 2, 1));
}

TEST(KvCache, TheOldestCopyIsFound) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(6)});
  cache.begin_lookups();
  const BlockId a = cache.allocate();
  const BlockId b = cache.allocate();
  const BlockId copy_of_a = cache.allocate();
  cache.set_hash(a, 7);
  cache.set_hash(b, 9);
  cache.set_hash(copy_of_a, 7);
  EXPECT_EQ(cache.find(7), a);
  EXPECT_EQ(cache.find(9), b);
  EXPECT_EQ(cache.find(8), std::nullopt);
  EXPECT_EQ(cache.find(7, 1), std::nullopt) << "another cache group";
  EXPECT_EQ(cache.num_unheld({a, b}), 0);
  cache.release({a});
  EXPECT_EQ(cache.num_unheld({a, b}), 1);
}

/// What inference-sim's map of one block per hash loses (blis.md, W6): the copy stays valid when
/// the block that was found first is given to another request.
TEST(KvCache, W6ACopyIsFoundWhenTheFirstIsGone) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(6)});
  cache.begin_lookups();
  const BlockId first = cache.allocate();
  const BlockId copy = cache.allocate();
  cache.set_hash(first, 7);
  cache.set_hash(copy, 7);
  cache.release({first});
  // Three of the five blocks beside the null block were free before: the fourth taken is `first`.
  for (int i = 0; i < 3; ++i) {
    cache.allocate();
  }
  EXPECT_EQ(cache.find(7), first);
  EXPECT_EQ(cache.allocate(), first);
  EXPECT_EQ(cache.find(7), copy);
}

TEST(KvCache, BlocksOfOneBucketAreToldApart) {
  // Five blocks have eight buckets: hashes eight apart share one, and so do a group and a hash that
  // add up to the same.
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(6)});
  cache.begin_lookups();
  const BlockId a = cache.allocate();
  const BlockId b = cache.allocate();
  const BlockId younger_a = cache.allocate();
  const BlockId c = cache.allocate();
  cache.set_hash(a, 7);
  cache.set_hash(b, 15);
  cache.set_hash(younger_a, 7);
  cache.set_hash(c, 6, 1);
  cache.release({a});
  EXPECT_EQ(cache.find(7), a);
  EXPECT_EQ(cache.find(15), b);
  EXPECT_EQ(cache.find(6, 1), c);
  EXPECT_EQ(cache.find(23), std::nullopt);
  EXPECT_EQ(cache.allocate(), BlockId(5));
  EXPECT_EQ(cache.allocate(), a);  // The first of its bucket is reused: the others stay.
  EXPECT_EQ(cache.find(7), younger_a);
  EXPECT_EQ(cache.find(15), b);
  EXPECT_EQ(cache.find(6, 1), c);
}

TEST(KvCache, AResetForgetsAllOnceNobodyHoldsABlock) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(4)});
  cache.begin_lookups();
  const BlockId block = cache.allocate();
  cache.set_hash(block, 7);
  EXPECT_FALSE(cache.reset());
  EXPECT_EQ(cache.find(7), block);
  cache.release({block});
  EXPECT_TRUE(cache.reset());
  EXPECT_EQ(cache.find(7), std::nullopt);
  EXPECT_THAT(ids(cache.free_list()), ElementsAre(2, 3, 1));
}

TEST(KvCache, CountsHoldersBeyondTheFirst) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(4)});
  cache.begin_lookups();
  const BlockId a = cache.allocate();
  const BlockId b = cache.allocate();
  EXPECT_EQ(cache.num_shared(), 0);
  cache.touch({a, b});
  cache.touch({a});
  EXPECT_EQ(cache.num_shared(), 3);  // Two of a, one of b.
  cache.release({b});
  EXPECT_EQ(cache.num_shared(), 2);
  cache.release({a, b});
  cache.release({a});
  EXPECT_EQ(cache.num_shared(), 0);
  cache.release({a});
  cache.touch({a});  // From the free list: its only holder.
  EXPECT_EQ(cache.num_shared(), 0);
}

TEST(KvCache, ReuseForgetsWhatABlockHeld) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(3)});
  cache.begin_lookups();
  const BlockId a = cache.allocate();
  cache.set_hash(a, 7);
  cache.release({a});
  EXPECT_EQ(cache.find(7), a);
  EXPECT_EQ(cache.allocate(), BlockId(2));
  EXPECT_EQ(cache.allocate(), a);
  EXPECT_EQ(cache.find(7), std::nullopt);
}

// 4 000 000 000 blocks of 32 bytes each would not fit: what was never used takes no memory.
TEST(KvCache, MemoryFollowsTheBlocksUsed) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(4'000'000'000)});
  cache.begin_lookups();
  EXPECT_EQ(cache.num_free(), 3'999'999'999);
  // Enough to have more buckets made, which must leave what they hold and its order alone.
  constexpr std::uint64_t kUsed = 5'000;
  for (std::uint64_t i = 0; i < kUsed; ++i) {
    cache.set_hash(cache.allocate(), i / 2);
  }
  for (std::uint64_t i = 0; i < kUsed / 2; ++i) {
    ASSERT_EQ(cache.find(i), BlockId(static_cast<std::uint32_t>(2 * i + 1))) << "the older of two";
  }
  EXPECT_EQ(cache.num_used(), 5'000);
}

}  // namespace
}  // namespace ridgeline::engine
