// The block pool of the reference twin, and the fast twin's against it.
#include "engine/reference/kv_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/fast/kv_pool.hpp"

namespace ridgeline::engine {
namespace {

using core::BlockId;
using testing::ElementsAre;

std::vector<std::uint32_t> ids(const std::list<BlockId>& blocks) {
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
  reference::KvCache cache(
      {.num_gpu_blocks = core::Blocks(11), .free_unhashed_first = free_unhashed_first});
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
  reference::KvCache cache({.num_gpu_blocks = core::Blocks(6)});
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

TEST(KvCache, AResetForgetsAllOnceNobodyHoldsABlock) {
  reference::KvCache cache({.num_gpu_blocks = core::Blocks(4)});
  const BlockId block = cache.allocate();
  cache.set_hash(block, 7);
  EXPECT_FALSE(cache.reset());
  EXPECT_EQ(cache.find(7), block);
  cache.release({block});
  EXPECT_TRUE(cache.reset());
  EXPECT_EQ(cache.find(7), std::nullopt);
  EXPECT_THAT(ids(cache.free_list()), ElementsAre(2, 3, 1));
}

TEST(KvCache, ReuseForgetsWhatABlockHeld) {
  reference::KvCache cache({.num_gpu_blocks = core::Blocks(3)});
  const BlockId a = cache.allocate();
  cache.set_hash(a, 7);
  cache.release({a});
  EXPECT_EQ(cache.find(7), a);
  EXPECT_EQ(cache.allocate(), BlockId(2));
  EXPECT_EQ(cache.allocate(), a);
  EXPECT_EQ(cache.find(7), std::nullopt);
}

/// The same random operations on both pools, block by block.
TEST(KvPool, EqualsTheReferenceOverRandomOperations) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 engine(seed);
    const auto draw = [&](std::uint64_t n) { return engine() % n; };
    const bool unhashed_first = draw(2) == 1;
    const auto total = core::Blocks(static_cast<std::int64_t>(5 + draw(30)));
    reference::KvCache plain({.num_gpu_blocks = total, .free_unhashed_first = unhashed_first});
    fast::KvPool pool({.num_gpu_blocks = total, .free_unhashed_first = unhashed_first});
    std::vector<std::vector<BlockId>> requests;
    for (int operation = 0; operation < 400; ++operation) {
      if (draw(3) > 0 && plain.num_free() > 3) {
        // A request: adopts what is cached of a random chain, then takes up to three blocks and
        // hashes some.
        const std::uint64_t base = 1 + 10 * draw(4);
        const std::vector<std::uint64_t> chain = {base, base + 1, base + 2};
        std::vector<BlockId> blocks;
        while (blocks.size() < chain.size() && plain.find(chain[blocks.size()])) {
          blocks.push_back(*plain.find(chain[blocks.size()]));
        }
        for (std::size_t i = 0; i < chain.size(); ++i) {
          const auto expected = i < blocks.size() ? blocks[i].value() : fast::KvPool::kNone;
          if (i <= blocks.size()) {
            ASSERT_EQ(pool.find(chain[i]), expected);
          }
        }
        plain.touch(blocks);
        for (const auto block : blocks) {
          pool.touch(block.value());
        }
        const std::size_t hit = blocks.size();
        for (std::size_t i = hit; i < 3 && plain.num_free() > 0; ++i) {
          blocks.push_back(plain.allocate());
          ASSERT_EQ(pool.allocate(), blocks.back().value());
          if (draw(4) > 0 && i == blocks.size() - 1 && (i == 0 || plain.find(chain[i - 1]))) {
            plain.set_hash(blocks.back(), chain[i]);
            pool.set_key(blocks.back().value(), chain[i]);
          }
        }
        requests.push_back(blocks);
      } else if (!requests.empty()) {
        const std::size_t which = draw(requests.size());
        std::vector<BlockId> deepest_first = requests[which];
        std::reverse(deepest_first.begin(), deepest_first.end());
        plain.release(deepest_first);
        std::vector<fast::KvPool::Block> blocks;
        for (const auto block : requests[which]) {
          blocks.push_back(block.value());
        }
        pool.release(blocks);
        requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(which));
      }
      ASSERT_EQ(pool.num_free(), plain.num_free());
      ASSERT_EQ(pool.num_used(), plain.num_used());
    }
  }
}

}  // namespace
}  // namespace ridgeline::engine
