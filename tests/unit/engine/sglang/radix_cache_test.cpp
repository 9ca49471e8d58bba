#include "engine/sglang/radix_cache.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "engine/sglang/options.hpp"
#include "engine/sglang/state_slots.hpp"
#include "engine/sglang/tokens.hpp"

namespace ridgeline::engine::sglang {
namespace {

Tokens tokens_of(const std::vector<Piece>& pieces) {
  Tokens tokens;
  for (const Piece& piece : pieces) {
    tokens.add(piece);
  }
  return tokens;
}

TEST(SglangTokens, RunsThatGoOnAreOnePiece) {
  const Tokens tokens = tokens_of({{1, 0, 3}, {1, 3, 4}, {2, 0, 2}});
  EXPECT_EQ(tokens.pieces().size(), 2U);
  EXPECT_EQ(tokens.length(), 9);
  const Tokens part = tokens.part(5, 8);
  ASSERT_EQ(part.pieces().size(), 2U);
  EXPECT_EQ(part.pieces()[0].offset, 5);
  EXPECT_EQ(part.length(), 3);
}

TEST(RadixCache, FindsTheLongestPrefixAndSplitsThere) {
  RadixCache tree(1, EvictionPolicy::kLru);
  const Tokens first = tokens_of({{1, 0, 10}, {2, 0, 5}});
  EXPECT_EQ(tree.insert(first, 15, {}), 0);
  EXPECT_EQ(tree.evictable(), 15);
  const Tokens second = tokens_of({{1, 0, 10}, {3, 0, 5}});
  EXPECT_EQ(tree.find(second, 15, 0), 10);
  const RadixCache::Match match = tree.match(second, 15, 0);
  EXPECT_EQ(match.length, 10);
  EXPECT_EQ(match.node->key.length(), 10);
  EXPECT_EQ(tree.insert(second, 15, {}), 10);
  EXPECT_EQ(tree.evictable(), 20);
  EXPECT_EQ(tree.counted(), 20);
  EXPECT_EQ(tree.match(second, 7, 0).length, 7);
}

TEST(RadixCache, AnAdaptersTreeIsItsOwn) {
  RadixCache tree(1, EvictionPolicy::kLru);
  const Tokens tokens = tokens_of({{1, 0, 10}});
  static_cast<void>(tree.insert(tokens, 10, {.salt = 1}));
  EXPECT_EQ(tree.find(tokens, 10, 0), 0);
  EXPECT_EQ(tree.find(tokens, 10, 1), 10);
  // A salt is no content.
  EXPECT_EQ(tree.find(tokens_of({{2, 0, 10}}), 10, 0), 0);
}

TEST(RadixCache, MatchesWholePages) {
  RadixCache tree(4, EvictionPolicy::kLru);
  static_cast<void>(tree.insert(tokens_of({{1, 0, 12}}), 12, {}));
  EXPECT_EQ(tree.match(tokens_of({{1, 0, 11}}), 11, 0).length, 8);
  EXPECT_EQ(tree.match(tokens_of({{1, 0, 6}, {2, 0, 6}}), 12, 0).length, 4);
  EXPECT_EQ(tree.match(tokens_of({{1, 0, 3}, {2, 0, 9}}), 12, 0).length, 0);
}

TEST(RadixCache, WhatIsLockedStaysWithAllBeforeIt) {
  RadixCache tree(1, EvictionPolicy::kLru);
  const Tokens shared = tokens_of({{1, 0, 10}});
  const Tokens longer = tokens_of({{1, 0, 10}, {2, 0, 5}});
  const Tokens other = tokens_of({{1, 0, 10}, {3, 0, 6}});
  static_cast<void>(tree.insert(shared, 10, {}));
  static_cast<void>(tree.insert(longer, 15, {}));
  static_cast<void>(tree.insert(other, 16, {}));
  const RadixCache::Match match = tree.match(longer, 15, 0);
  tree.lock(match.node);
  EXPECT_EQ(tree.protected_size(), 15);
  EXPECT_EQ(tree.evictable(), 6);
  EXPECT_EQ(tree.evict(100), 6);
  tree.unlock(match.node);
  EXPECT_EQ(tree.evict(3), 5);  // Whole leaves.
  EXPECT_EQ(tree.evict(3), 10);
  EXPECT_EQ(tree.counted(), 0);
}

/// Three prompts, of which the first is used again and the second twice.
std::int64_t evicted_first(EvictionPolicy policy) {
  RadixCache tree(1, policy);
  const auto prompt = [](std::uint64_t content) {
    return tokens_of({{content, 0, static_cast<std::int64_t>(content)}});
  };
  for (const std::uint64_t content : {5ULL, 6ULL, 7ULL}) {
    static_cast<void>(tree.insert(
        prompt(content), static_cast<std::int64_t>(content), {.priority = content == 6 ? -1 : 0}));
  }
  static_cast<void>(tree.insert(prompt(6), 6, {.priority = -1}));
  static_cast<void>(tree.insert(prompt(5), 5, {}));
  static_cast<void>(tree.match(prompt(6), 6, 0));
  return tree.evict(1);
}

TEST(RadixCache, EvictsInTheOrderOfThePolicy) {
  EXPECT_EQ(evicted_first(EvictionPolicy::kLru), 7);
  EXPECT_EQ(evicted_first(EvictionPolicy::kMru), 6);
  EXPECT_EQ(evicted_first(EvictionPolicy::kFifo), 5);
  EXPECT_EQ(evicted_first(EvictionPolicy::kFilo), 7);
  EXPECT_EQ(evicted_first(EvictionPolicy::kLfu), 7);
  EXPECT_EQ(evicted_first(EvictionPolicy::kSlru), 7);
  EXPECT_EQ(evicted_first(EvictionPolicy::kPriority), 6);
}

TEST(RadixCache, ANodeIsCutWhereItsPromptEnds) {
  RadixCache tree(1, EvictionPolicy::kLru);
  const Tokens tokens = tokens_of({{1, 0, 10}, {2, 0, 6}});
  EXPECT_EQ(tree.insert(tokens, 13, {}), 0);
  EXPECT_EQ(tree.insert(tokens, 16, {.cut = 10}), 13);
  EXPECT_EQ(tree.evict(1), 3);
  EXPECT_EQ(tree.evict(1), 3);
  EXPECT_EQ(tree.find(tokens, 16, 0), 10);
}

TEST(RadixCache, AHostsPoolHasWhatLeavesTheGpus) {
  RadixCache tree(1, EvictionPolicy::kLru);
  tree.attach({.free = 25});
  const Tokens a = tokens_of({{1, 0, 10}});
  const Tokens b = tokens_of({{2, 0, 20}});
  static_cast<void>(tree.insert(a, 10, {}));
  EXPECT_EQ(tree.host_free(), 15);
  const std::vector<RadixCache::Write> writes = tree.take_writes();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].tokens, 10);
  EXPECT_EQ(tree.evict(10), 0);  // Its copy is on the way.
  tree.unlock(writes[0].node);
  EXPECT_EQ(tree.evict(10), 10);
  const RadixCache::Match match = tree.match(a, 10, 0);
  EXPECT_EQ(match.length, 0);
  EXPECT_EQ(match.host_length, 10);
  tree.load(match.host_node);
  EXPECT_EQ(tree.match(a, 10, 0).length, 10);
  EXPECT_EQ(tree.evictable(), 10);
  // There is no room for twenty, while the GPU's pool has the ten; then those give way.
  static_cast<void>(tree.insert(b, 20, {}));
  EXPECT_TRUE(tree.take_writes().empty());
  EXPECT_EQ(tree.evict(30), 30);
  static_cast<void>(tree.insert(b, 20, {}));
  EXPECT_EQ(tree.host_free(), 5);
  EXPECT_EQ(tree.match(a, 10, 0).host_length, 0);
}

TEST(RadixCache, ABeginningIsFoundUpToAState) {
  for (const bool apart : {false, true}) {
    RadixCache tree(1, EvictionPolicy::kLru);
    tree.states().attach(3, apart, -1);
    const Tokens tokens = tokens_of({{1, 0, 30}});
    for (const std::int64_t end : {10, 20, 30}) {
      tree.states().take();
      static_cast<void>(tree.insert(tokens, end, {.has_state = true}));
    }
    EXPECT_EQ(tree.match(tokens, 25, 0).length, 20);
    EXPECT_EQ(tree.states().free(), 0);
    EXPECT_EQ(tree.states().evictable(), 3);
    if (apart) {
      // The beginning was used as it was entered alone, and what is left of it stays.
      EXPECT_EQ(tree.evict_state(), 0);
      EXPECT_EQ(tree.match(tokens, 15, 0).length, 0);
      EXPECT_EQ(tree.find(tokens, 30, 0), 30);
    } else {
      // The way to what was found is newer than what is behind it, which goes whole.
      EXPECT_EQ(tree.evict_state(), 10);
      EXPECT_EQ(tree.match(tokens, 15, 0).length, 10);
    }
    EXPECT_EQ(tree.states().free(), 1);
    EXPECT_EQ(tree.states().evictable() + tree.states().protected_size(), 2);
  }
}

TEST(RadixCache, AStateGoesToTheHostWithItsNodeAndComesBack) {
  RadixCache tree(1, EvictionPolicy::kLru);
  tree.states().attach(2, true, -1);
  tree.attach({.free = 40, .states = 2});
  const Tokens tokens = tokens_of({{1, 0, 30}});
  for (const std::int64_t end : {10, 30}) {
    tree.states().take();
    static_cast<void>(tree.insert(tokens, end, {.has_state = true}));
    for (const RadixCache::Write& write : tree.take_writes()) {
      tree.unlock(write.node);
    }
  }
  // The deeper node leaves the GPU's pool with its state.
  EXPECT_EQ(tree.evict(1), 20);
  EXPECT_EQ(tree.states().free(), 1);
  const RadixCache::Match match = tree.match(tokens, 30, 0);
  EXPECT_EQ(match.length, 10);
  ASSERT_EQ(match.host_length, 20);
  const Missing missing = missing_of(*match.host_node);
  EXPECT_EQ(missing.from, match.node);
  EXPECT_EQ(missing.tokens, 20);
  EXPECT_TRUE(missing.state);
  tree.pin(*match.host_node);
  tree.load(match.host_node);
  EXPECT_EQ(tree.match(tokens, 30, 0).length, 30);
  // A state alone that has gone is on the host as well, while the KV stays.
  EXPECT_EQ(tree.evict_state(), 0);
  const RadixCache::Match beginning = tree.match(tokens, 15, 0);
  EXPECT_EQ(beginning.length, 0);
  ASSERT_EQ(beginning.host_length, 10);
  EXPECT_EQ(missing_of(*beginning.host_node).tokens, 0);
}

TEST(RadixCache, APathKeepsSoManyStatesTheLastOnes) {
  RadixCache tree(1, EvictionPolicy::kLru);
  tree.states().attach(3, true, 2);
  const Tokens tokens = tokens_of({{1, 0, 30}});
  for (const std::int64_t end : {10, 20, 30}) {
    tree.states().take();
    static_cast<void>(tree.insert(tokens, end, {.has_state = true}));
  }
  EXPECT_EQ(tree.states().free(), 1);
  EXPECT_EQ(tree.match(tokens, 15, 0).length, 0);
  EXPECT_EQ(tree.match(tokens, 25, 0).length, 20);
  EXPECT_EQ(tree.match(tokens, 25, 0).kv_length, 25);
}

}  // namespace
}  // namespace ridgeline::engine::sglang
