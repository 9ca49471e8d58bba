#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "cluster/store/eviction.hpp"
#include "cluster/store/policies/policies.hpp"

namespace ridgeline::store {
namespace {

bool any(BlockKey /*key*/) {
  return true;
}

TEST(Lru, TheOneNotUsedForLongestGoes) {
  const auto lru = make_lru(3);
  for (const BlockKey key : {1U, 2U, 3U}) {
    lru->insert(key);
  }
  lru->touch(1);
  EXPECT_EQ(lru->evict(any), std::optional<BlockKey>(2));
  EXPECT_EQ(lru->evict(any), std::optional<BlockKey>(3));
  EXPECT_EQ(lru->evict(any), std::optional<BlockKey>(1));
  EXPECT_EQ(lru->evict(any), std::nullopt);
}

TEST(Lru, BlocksThatMayNotGoArePassedOverAndKeepTheirPlace) {
  const auto lru = make_lru(3);
  for (const BlockKey key : {1U, 2U, 3U}) {
    lru->insert(key);
  }
  EXPECT_EQ(lru->evict([](BlockKey key) { return key != 1; }), std::optional<BlockKey>(2));
  EXPECT_EQ(lru->evict([](BlockKey) { return false; }), std::nullopt);
  EXPECT_EQ(lru->evict(any), std::optional<BlockKey>(1));
}

}  // namespace
}  // namespace ridgeline::store
