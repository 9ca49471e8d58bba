#include "engine/vllm/plain/block_tables.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

using core::BlockId;

constexpr std::int64_t kBlock = 4;

EngineOptions options_of(std::int64_t blocks) {
  EngineOptions options;
  options.num_gpu_blocks = core::Blocks(blocks);
  options.block_size = core::Tokens(kBlock);
  options.enable_prefix_caching = true;
  return options;
}

/// A request whose prompt begins with 16 tokens that all have, or none, five blocks in all.
class Request {
 public:
  explicit Request(std::uint32_t id, bool shares = true) : tokens_(stated(id, shares)) {
    std::uint64_t hash = 0;
    BlockHashes hashes;
    for (std::int64_t end = kBlock; end <= 5 * kBlock; end += kBlock) {
      hash = tokens_.hash_block(hash, end - kBlock, end);
      hashes.push_back(hash);
    }
    hashes_ = hashes;
  }
  void start(BlockManager& manager) {
    manager.adopt(tables, manager.find_prefix(hashes_, 4), hashes_, tokens_);
    tables.last_aligned = 4;
    ASSERT_TRUE(manager.extend(tables, 5 * kBlock));
    manager.hash_full_blocks(core::RequestId(0), tables, hashes_, 5 * kBlock);
  }
  [[nodiscard]] const TokenSequence& tokens() const { return tokens_; }
  [[nodiscard]] const BlockHashes& hashes() const { return hashes_; }

  BlockTables tables;

 private:
  static domain::Request stated(std::uint32_t id, bool shares) {
    domain::Request request;
    request.id = core::RequestId(id);
    request.prompt_tokens = core::Tokens(20);
    if (shares) {
      request.prompt = {{.content = 1, .length = core::Tokens(16)}};
    }
    return request;
  }
  TokenSequence tokens_;
  BlockHashes hashes_;
};

// A request that finds all blocks of a shared row joins its holders: no block is looked up alone.
TEST(BlockTables, RequestsHoldAPrefixTogether) {
  BlockManager manager(options_of(20));
  manager.begin_lookups();
  Request computes(0);
  Request finds(1);
  Request joins(2);
  computes.start(manager);
  finds.start(manager);
  joins.start(manager);
  EXPECT_EQ(computes.tables.groups[0].row, nullptr);
  ASSERT_NE(finds.tables.groups[0].row, nullptr);
  EXPECT_EQ(joins.tables.groups[0].row, finds.tables.groups[0].row);
  EXPECT_EQ(finds.tables.groups[0].row->holders, 2);
  EXPECT_THAT(joins.tables.groups[0].ids(),
              testing::ElementsAre(BlockId(1), BlockId(2), BlockId(3), BlockId(4), BlockId(7)));
  EXPECT_EQ(manager.pool().references(BlockId(4)), 3);
  EXPECT_EQ(manager.pool().references(BlockId(5)), 1);
  EXPECT_EQ(manager.pool().num_shared(), 8);  // Four blocks, two holders more each.
  EXPECT_EQ(manager.pool().num_used(), 7);

  manager.release(finds.tables, finds.hashes());
  EXPECT_EQ(manager.pool().references(BlockId(4)), 2);
  manager.release(computes.tables, computes.hashes());
  EXPECT_EQ(manager.pool().num_shared(), 0);
  EXPECT_EQ(manager.pool().num_used(), 5);
  manager.release(joins.tables, joins.hashes());
  EXPECT_EQ(manager.pool().num_used(), 0);
  // The last to leave gives the prefix back, its end first.
  const auto free = manager.pool().free_list();
  EXPECT_THAT(std::vector(free.end() - 4, free.end()),
              testing::ElementsAre(BlockId(4), BlockId(3), BlockId(2), BlockId(1)));
}

TEST(BlockTables, HashesOfAHeldPrefixAreKnown) {
  BlockManager manager(options_of(20));
  manager.begin_lookups();
  Request computes(0);
  Request finds(1);
  const Request asks(2);
  computes.start(manager);
  EXPECT_TRUE(manager.known_hashes(asks.hashes()[0], asks.tokens()).empty()) << "held by one alone";
  finds.start(manager);
  const BlockHashes known = manager.known_hashes(asks.hashes()[0], asks.tokens());
  ASSERT_EQ(known.size(), 4U);  // The fifth block is the request's own.
  EXPECT_EQ(known.back(), asks.hashes()[3]);
}

/// One request has ended, and one whose window has moved on runs, when look-ups begin: at the
/// start, or now.
struct Started {
  explicit Started(const EngineOptions& options, bool at_once) : manager(options) {
    if (at_once) {
      manager.begin_lookups();
    }
    ended.start(manager);
    runs.start(manager);
    manager.drop_left_of_windows(runs.tables, runs.hashes(), 4 * kBlock);
    manager.release(ended.tables, ended.hashes());
    if (!at_once) {
      manager.begin_lookups();
      manager.hold(runs.tables, runs.hashes());
    }
  }
  /// The blocks under which the hashes of both requests are found.
  [[nodiscard]] std::vector<std::optional<BlockId>> found() const {
    std::vector<std::optional<BlockId>> blocks;
    for (const Request* request : {&ended, &runs}) {
      for (std::size_t i = 0; i < request->hashes().size(); ++i) {
        blocks.push_back(manager.pool().find(request->hashes()[i], 0));
        blocks.push_back(manager.pool().find(request->hashes()[i], 1));
      }
    }
    return blocks;
  }

  BlockManager manager;
  Request ended = Request(0, false);
  Request runs = Request(1, false);
};

TEST(BlockTables, LookupsBeginWithAllThatWasComputedBefore) {
  for (const bool unhashed_first : {false, true}) {
    for (const auto& [caching, retention] : {std::pair(false, std::optional<core::Tokens>()),
                                             std::pair(true, std::optional<core::Tokens>()),
                                             std::pair(true, std::optional(core::Tokens(0)))}) {
      EngineOptions options = options_of(30);
      options.prefix_cache_retention_interval = retention;
      options.cache_groups = {{}, {.sliding_window = core::Tokens(2 * kBlock)}};
      options.enable_prefix_caching = caching;
      options.profile.free_unhashed_first = unhashed_first;
      Started early(options, true);
      Started late(options, false);
      EXPECT_EQ(late.manager.pool().free_list(), early.manager.pool().free_list());
      EXPECT_EQ(late.manager.pool().num_used(), 8);  // Two blocks left the window of the second.
      EXPECT_EQ(late.found(), early.found());
      EXPECT_EQ(late.found().front().has_value(), caching);
      // Nor does the reuse of all free blocks tell them apart.
      for (Started* one : {&early, &late}) {
        one->manager.adopt(one->ended.tables, {}, one->ended.hashes(), one->ended.tokens());
        ASSERT_TRUE(one->manager.extend(one->ended.tables, 10 * kBlock));
      }
      EXPECT_EQ(late.ended.tables.groups[1].ids(), early.ended.tables.groups[1].ids());
      EXPECT_EQ(late.found(), early.found());
      late.manager.release(late.runs.tables, late.runs.hashes());
      EXPECT_EQ(late.manager.pool().num_used(), 20);
    }
  }
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
