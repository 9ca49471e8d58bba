#include "routing/character_tree.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "routing/cache_aware.hpp"

namespace ridgeline::routing {
namespace {

Text text(std::uint64_t content, std::int64_t length, std::uint64_t tail) {
  return {{.content = content, .offset = 0, .length = length},
          {.content = tail, .offset = 0, .length = 10}};
}

TEST(CharacterTree, FindsTheLongestBeginning) {
  CharacterTree tree(2);
  EXPECT_FALSE(tree.match(text(1, 50, 100)).worker.has_value());
  tree.insert(text(1, 50, 100), 0);
  tree.insert(text(1, 80, 101), 1);
  const auto both = tree.match(text(1, 30, 102));
  EXPECT_EQ(both.characters, 30);
  EXPECT_EQ(both.worker, 0);  // It was given them first.
  const auto longer = tree.match(text(1, 70, 103));
  EXPECT_EQ(longer.characters, 70);
  EXPECT_EQ(longer.worker, 1);
  EXPECT_EQ(tree.match(text(1, 50, 100)).characters, 60);
}

TEST(CharacterTree, ForgetsAWorkerAndEvictsOldLeaves) {
  CharacterTree tree(2);
  tree.insert(text(1, 50, 100), 0);
  tree.insert(text(1, 50, 101), 1);
  tree.insert(text(2, 50, 102), 1);
  tree.forget(0);
  EXPECT_EQ(tree.match(text(1, 50, 103)).worker, 1);
  tree.evict(60);  // Worker 1 had 120: the first prompt's tail and its beginning go.
  EXPECT_FALSE(tree.match(text(1, 50, 103)).worker.has_value());
  EXPECT_EQ(tree.match(text(2, 50, 103)).characters, 50);
}

TEST(CacheAware, FollowsThePromptUnlessLoadsAreFarApart) {
  CacheAware policy(2, {});
  EXPECT_EQ(policy.pick(text(1, 50, 100), {3, 1}, {true, true}), 1);
  EXPECT_EQ(policy.pick(text(1, 50, 101), {0, 60}, {true, true}), 1);
  EXPECT_EQ(policy.pick(text(1, 50, 102), {0, 65}, {true, true}), 0);
  EXPECT_EQ(policy.pick(text(3, 5, 103), {2, 1}, {true, true}), 1);
  // The worker that holds the prompt is ill: its entries go.
  EXPECT_EQ(policy.pick(text(1, 50, 104), {5, 1}, {true, false}), 0);
}

}  // namespace
}  // namespace ridgeline::routing
