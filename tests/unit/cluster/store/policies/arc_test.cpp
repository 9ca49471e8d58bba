#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "cluster/store/eviction.hpp"
#include "cluster/store/policies/policies.hpp"

namespace ridgeline::store {
namespace {

/// A cache of keys under a policy, as a tier drives it.
class Cache {
 public:
  Cache(std::size_t capacity, std::unique_ptr<Eviction> policy)
      : capacity_(capacity), policy_(std::move(policy)) {}

  /// Whether the key was there; it is afterwards.
  bool use(BlockKey key) {
    if (held_.contains(key)) {
      policy_->touch(key);
      return true;
    }
    policy_->expect(key);
    if (held_.size() == capacity_) {
      held_.erase(*policy_->evict([](BlockKey) { return true; }));
    }
    policy_->insert(key);
    held_.insert(key);
    return false;
  }
  [[nodiscard]] bool has(BlockKey key) const { return held_.contains(key); }

 private:
  std::size_t capacity_;
  std::unique_ptr<Eviction> policy_;
  std::set<BlockKey> held_;
};

/// Figure 4 of the paper by hand, with four blocks: T1 = once, T2 = often, p = room for once.
TEST(Arc, FollowsThePaperStepByStep) {
  Cache cache(4, make_arc(4));
  for (const BlockKey key : {1U, 2U, 3U, 4U}) {
    EXPECT_FALSE(cache.use(key));
  }
  EXPECT_TRUE(cache.use(1));   // T1 = 2 3 4, T2 = 1, p = 0.
  EXPECT_FALSE(cache.use(5));  // T1 is longer than p: 2 goes. B1 = 2, T1 = 3 4 5.
  EXPECT_FALSE(cache.has(2));
  EXPECT_FALSE(cache.use(2));  // Missed of late: p = 1, 3 goes. T1 = 4 5, T2 = 1 2.
  EXPECT_FALSE(cache.has(3));
  EXPECT_TRUE(cache.use(4));   // T1 = 5, T2 = 1 2 4.
  EXPECT_FALSE(cache.use(6));  // T1 is not longer than p: 1 goes, of T2. B2 = 1, T1 = 5 6.
  EXPECT_FALSE(cache.has(1));
  EXPECT_FALSE(cache.use(1));  // In B2: p = 0, 5 goes, of T1.
  EXPECT_FALSE(cache.has(5));
  for (const BlockKey key : {6U, 2U, 4U, 1U}) {
    EXPECT_TRUE(cache.has(key));
  }
}

/// What ARC is for: blocks used twice stay while a scan passes, which empties an LRU.
TEST(Arc, AScanDoesNotTakeBlocksThatAreUsedAgain) {
  Cache arc(8, make_arc(8));
  Cache lru(8, make_lru(8));
  for (const auto& cache : {&arc, &lru}) {
    for (int round = 0; round < 2; ++round) {
      for (BlockKey key = 0; key < 4; ++key) {
        cache->use(key);
      }
    }
    for (BlockKey key = 100; key < 200; ++key) {
      EXPECT_FALSE(cache->use(key));
    }
  }
  for (BlockKey key = 0; key < 4; ++key) {
    EXPECT_TRUE(arc.has(key));
    EXPECT_FALSE(lru.has(key));
  }
}

TEST(Arc, WhereOneListMayNotGoTheOtherIsAsked) {
  const auto arc = make_arc(2);
  arc->insert(1);
  arc->insert(2);
  arc->touch(2);
  EXPECT_EQ(arc->evict([](BlockKey key) { return key == 2; }), std::optional<BlockKey>(2));
  EXPECT_EQ(arc->evict([](BlockKey) { return false; }), std::nullopt);
}

/// Closed forms: a cycle over more keys than there is room for never hits under LRU, and a cycle
/// that fits always hits from its second round on.
TEST(EvictionClosedForms, LruUnderACycle) {
  for (const BlockKey keys : {3U, 8U, 9U, 20U}) {
    Cache cache(8, make_lru(8));
    std::int64_t hits = 0;
    for (int round = 0; round < 10; ++round) {
      for (BlockKey key = 0; key < keys; ++key) {
        hits += cache.use(key) ? 1 : 0;
      }
    }
    EXPECT_EQ(hits, keys <= 8 ? 9 * static_cast<std::int64_t>(keys) : 0) << keys;
  }
}

}  // namespace
}  // namespace ridgeline::store
