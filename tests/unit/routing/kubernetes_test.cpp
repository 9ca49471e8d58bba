#include "routing/kubernetes.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::routing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Aibrix, TakesTheBestMatchThatIsNotTooBusy) {
  EXPECT_THAT(aibrix_prefix_cache({50, 100, 0}, {2, 3, 1}).picks, ElementsAre(0));
  EXPECT_THAT(aibrix_prefix_cache({0, 0, 0}, {2, 1, 1}).picks, ElementsAre(1, 2));
  const auto apart = aibrix_prefix_cache({100, 0, 0}, {9, 0, 0});
  EXPECT_TRUE(apart.imbalanced);
  EXPECT_THAT(apart.picks, ElementsAre(1, 2));
}

TEST(Kthena, ScoresAreCutTowardsZero) {
  EXPECT_THAT(kthena_least_request({3, 1, 0}, {3, 1, 0}), ElementsAre(0, 66, 100));
  EXPECT_THAT(kthena_least_request({4, 3}, {3, 3}), ElementsAre(0, 97));  // One waits: 104.
  EXPECT_THAT(kthena_gpu_usage({0.906, 0.5}), ElementsAre(9, 50));
  // One of two that are measured in both leads in each. The third lacks a first token: 50 as a
  // whole, and its 0.09 s widen no range.
  EXPECT_THAT(kthena_least_latency({0.1, 0.3, 0.0}, {0.02, 0.01, 0.09}), ElementsAre(50, 50, 50));
  EXPECT_THAT(kthena_least_latency({0.1, 0.3, 0.2}, {0.02, 0.02, 0.0}), ElementsAre(100, 50, 50));
  EXPECT_THAT(kthena_least_latency({0.0, 0.1}, {0.02, 0.0}), ElementsAre(50, 50));
}

TEST(ProductionStack, TakesTurnsBySetAndTheLowestRate) {
  RoundRobinBySet turns;
  EXPECT_EQ(turns.next({"b", "a"}), "a");
  EXPECT_EQ(turns.next({"a", "b"}), "b");
  EXPECT_EQ(turns.next({"a", "b", "c"}), "a");
  EXPECT_EQ(lowest_rate({3.0, 1.0, 2.0}), 1);
  EXPECT_EQ(lowest_rate({0.0, 1.0, std::nullopt}), 2);
}

TEST(ChunkTrie, KnowsWhereBeginningsWent) {
  ChunkTrie trie;
  trie.insert({1, 2, 3}, 0);
  trie.insert({1, 2, 4}, 1);
  const auto both = trie.longest({1, 2, 9});
  EXPECT_EQ(both.chunks, 2);
  EXPECT_THAT(both.endpoints, ElementsAre(0, 1));
  EXPECT_THAT(trie.longest({1, 2, 4}).endpoints, ElementsAre(1));
  EXPECT_THAT(trie.longest({5}).endpoints, IsEmpty());
}

TEST(ChunkTrie, BeginningsMayEndAnywhereInLongerOnes) {
  ChunkTrie trie;
  trie.insert({1, 2, 3, 4}, 0);
  EXPECT_EQ(trie.longest({1, 2}).chunks, 2);
  trie.insert({1, 2}, 1);
  trie.insert({1, 2, 3, 4, 5, 6}, 2);
  EXPECT_THAT(trie.longest({1}).endpoints, ElementsAre(0, 1, 2));
  EXPECT_THAT(trie.longest({1, 2}).endpoints, ElementsAre(0, 1, 2));
  EXPECT_EQ(trie.longest({1, 2, 3}).chunks, 3);
  EXPECT_THAT(trie.longest({1, 2, 3}).endpoints, ElementsAre(0, 2));
  EXPECT_EQ(trie.longest({1, 2, 3, 4, 5, 9}).chunks, 5);
  EXPECT_THAT(trie.longest({1, 2, 3, 4, 5, 9}).endpoints, ElementsAre(2));
}

}  // namespace
}  // namespace ridgeline::routing
