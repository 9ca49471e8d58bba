// The block pool of vLLM's plain scheduler.
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
using vllm::plain::kNullBlock;

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
  std::vector<BlockId> first;
  for (int i = 0; i < 4; ++i) {
    first.push_back(cache.allocate());
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    cache.enter(100 + i, {first[i]});
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
  const BlockId a = cache.allocate();
  const BlockId b = cache.allocate();
  const BlockId copy_of_a = cache.allocate();
  cache.enter(7, {a});
  cache.enter(9, {b});
  cache.enter(7, {copy_of_a});
  EXPECT_EQ(cache.find(7), a);
  EXPECT_EQ(cache.find(9), b);
  EXPECT_EQ(cache.find(8), std::nullopt);
  EXPECT_EQ(cache.num_unheld({a, b}), 0);
  cache.release({a});
  EXPECT_EQ(cache.num_unheld({a, b}), 1);
}

TEST(KvCache, BlocksDifferByHashGroupAndAge) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(6), .num_groups = 2});
  const BlockId a = cache.allocate();
  const BlockId b = cache.allocate();
  const BlockId younger_a = cache.allocate();
  const BlockId c = cache.allocate();
  cache.enter(7, {a, kNullBlock});
  cache.enter(15, {b, kNullBlock});
  cache.enter(7, {younger_a, kNullBlock});
  cache.enter(6, {kNullBlock, c});
  cache.release({a});
  EXPECT_EQ(cache.find(7), a);
  EXPECT_EQ(cache.find(15), b);
  EXPECT_EQ(cache.find(6, 1), c);
  EXPECT_EQ(cache.find(6, 0), std::nullopt) << "another cache group";
  EXPECT_EQ(cache.find(23), std::nullopt);
  EXPECT_EQ(cache.allocate(), BlockId(5));
  EXPECT_EQ(cache.allocate(), a);  // The older of two is reused: the other stays.
  EXPECT_EQ(cache.find(7), younger_a);
  EXPECT_EQ(cache.find(15), b);
  EXPECT_EQ(cache.find(6, 1), c);
}

TEST(KvCache, AResetForgetsAllOnceNoRequestHoldsABlock) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(4)});
  const BlockId block = cache.allocate();
  cache.enter(7, {block});
  EXPECT_FALSE(cache.reset());
  EXPECT_EQ(cache.find(7), block);
  cache.release({block});
  EXPECT_TRUE(cache.reset());
  EXPECT_EQ(cache.find(7), std::nullopt);
  EXPECT_THAT(ids(cache.free_list()), ElementsAre(2, 3, 1));
}

TEST(KvCache, CountsHoldersBeyondTheFirst) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(4)});
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
  const BlockId a = cache.allocate();
  cache.enter(7, {a});
  cache.release({a});
  EXPECT_EQ(cache.find(7), a);
  EXPECT_EQ(cache.allocate(), BlockId(2));
  EXPECT_EQ(cache.allocate(), a);
  EXPECT_EQ(cache.find(7), std::nullopt);
}

// 4 000 000 000 blocks of 32 bytes each would not fit: what was never used takes no memory.
TEST(KvCache, MemoryFollowsTheBlocksUsed) {
  vllm::plain::KvCache cache({.num_gpu_blocks = core::Blocks(4'000'000'000)});
  EXPECT_EQ(cache.num_free(), 3'999'999'999);
  // Enough for the map to grow, which must leave what it holds and its order alone.
  constexpr std::uint64_t kUsed = 5'000;
  for (std::uint64_t i = 0; i < kUsed; ++i) {
    cache.enter(i / 2, {cache.allocate()});
  }
  for (std::uint64_t i = 0; i < kUsed / 2; ++i) {
    ASSERT_EQ(cache.find(i), BlockId(static_cast<std::uint32_t>(2 * i + 1))) << "the older of two";
  }
  EXPECT_EQ(cache.num_used(), 5'000);
}

}  // namespace
}  // namespace ridgeline::engine
