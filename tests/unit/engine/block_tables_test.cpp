#include "engine/vllm/plain/block_tables.hpp"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/content.hpp"

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

/// A request whose prompt begins with 16 tokens that all have, five blocks in all.
class Request {
 public:
  explicit Request(std::uint32_t id) {
    const TokenSequence tokens(stated(id));
    for (std::int64_t end = kBlock; end <= 5 * kBlock; end += kBlock) {
      const std::uint64_t parent = hashes_.empty() ? 0 : hashes_.back();
      hashes_.push_back(tokens.hash_block(parent, end - kBlock, end));
    }
  }
  void start(BlockManager& manager) {
    manager.adopt(tables, manager.find_prefix(hashes_, 4));
    ASSERT_TRUE(manager.extend(tables, 5 * kBlock));
    manager.hash_full_blocks(tables, hashes_, 5 * kBlock);
  }

  BlockTables tables;

 private:
  static domain::Request stated(std::uint32_t id) {
    domain::Request request;
    request.id = core::RequestId(id);
    request.prompt_tokens = core::Tokens(20);
    request.prompt = {{.content = 1, .length = core::Tokens(16)}};
    return request;
  }
  BlockHashes hashes_;
};

TEST(BlockTables, RequestsHoldAPrefixTogether) {
  BlockManager manager(options_of(20));
  Request computes(0);
  Request finds(1);
  Request joins(2);
  computes.start(manager);
  finds.start(manager);
  joins.start(manager);
  EXPECT_THAT(joins.tables.groups[0].blocks,
              testing::ElementsAre(BlockId(1), BlockId(2), BlockId(3), BlockId(4), BlockId(7)));
  EXPECT_EQ(manager.pool().references(BlockId(4)), 3);
  EXPECT_EQ(manager.pool().references(BlockId(5)), 1);
  EXPECT_EQ(manager.pool().num_shared(), 8);  // Four blocks, two holders more each.
  EXPECT_EQ(manager.pool().num_used(), 7);

  manager.release(finds.tables);
  EXPECT_EQ(manager.pool().references(BlockId(4)), 2);
  manager.release(computes.tables);
  EXPECT_EQ(manager.pool().num_shared(), 0);
  EXPECT_EQ(manager.pool().num_used(), 5);
  manager.release(joins.tables);
  EXPECT_EQ(manager.pool().num_used(), 0);
  // The last to leave gives the prefix back, its end first.
  const auto free = manager.pool().free_list();
  EXPECT_THAT(std::vector(free.end() - 4, free.end()),
              testing::ElementsAre(BlockId(4), BlockId(3), BlockId(2), BlockId(1)));
}

TEST(BlockTables, ItIsSaidUpToWhereNothingHappens) {
  EngineOptions options = options_of(40);
  options.cache_groups = {CacheGroup{}, CacheGroup{.sliding_window = core::Tokens(6)}};
  BlockManager manager(options);
  Request request(0);
  request.start(manager);
  // Five full blocks of 4 tokens: the next token takes the sixth, which 24 tokens fill. A window of
  // 6 looks back at 5 tokens: the first block, tokens 0 to 3, is out of sight once 9 are computed.
  EXPECT_EQ(manager.tokens_held(request.tables), 20);
  EXPECT_EQ(manager.hashed_below(request.tables), 24);
  EXPECT_EQ(manager.windows_rest_below(request.tables), 9);
  manager.drop_left_of_windows(request.tables, 8);
  EXPECT_EQ(manager.pool().num_used(), 10);
  manager.drop_left_of_windows(request.tables, 9);
  EXPECT_EQ(manager.pool().num_used(), 9);
  EXPECT_EQ(request.tables.groups[1].blocks[0], kNullBlock);
  EXPECT_EQ(manager.windows_rest_below(request.tables), 13);
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
