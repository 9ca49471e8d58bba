// In which order blocks of requests that have ended are taken again.
#include <cstdint>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"

namespace ridgeline::engine::vllm::fast {
namespace {

/// Ten blocks of four tokens.
class FreeList : public testing::Test, protected PrefixCache::Keyed {
 protected:
  /// A request with a prompt of so many blocks of one content came and went.
  void serve(core::RequestId::Rep id, std::uint64_t content, std::int64_t blocks) {
    PrefixCache::Table table;
    table.chain = chain_of(id, content, blocks);
    PrefixCache::Match match;
    cache_.find(cache_.chain(table.chain), blocks - 1, blocks, match);
    cache_.adopt(table, kOwner, match);
    cache_.allocate(blocks - match.blocks, kOwner);
    cache_.release(table, kOwner, blocks, blocks);
    cache_.drop_chain(table.chain);
  }

  /// How many blocks of a prompt of that content can be found.
  std::int64_t found(std::uint64_t content) {
    constexpr std::int64_t kMost = 10;
    const PrefixCache::ChainIndex chain = chain_of(99, content, kMost);
    PrefixCache::Match match;
    cache_.find(cache_.chain(chain), kMost, kMost, match);
    cache_.drop_chain(chain);
    return match.blocks;
  }

  static constexpr PrefixCache::Owner kOwner = 0;
  PrefixCache cache_{{.num_gpu_blocks = core::Blocks(11), .block_size = core::Tokens(4)}, *this};

 private:
  PrefixCache::ChainIndex chain_of(core::RequestId::Rep id,
                                   std::uint64_t content,
                                   std::int64_t blocks) {
    domain::Request request;
    request.id = core::RequestId(id);
    request.prompt_tokens = core::Tokens(4 * blocks);
    request.prompt = {{content, request.prompt_tokens}};
    const PrefixCache::ChainIndex chain = cache_.take_chain();
    cache_.assign(chain, request);
    return chain;
  }
  [[nodiscard]] std::int64_t keyed_blocks(PrefixCache::Owner /*owner*/) const override { return 0; }
};

TEST_F(FreeList, TheRequestThatEndedFirstLosesItsDeepestBlockFirst) {
  serve(1, 70, 4);
  serve(2, 71, 4);
  ASSERT_EQ(cache_.num_free(), 10);
  cache_.allocate(2);  // Those that never held anything.
  EXPECT_EQ(found(70), 4);
  cache_.allocate(1);
  EXPECT_EQ(found(70), 3);
  cache_.allocate(3);
  EXPECT_EQ(found(70), 0);
  EXPECT_EQ(found(71), 4);
  cache_.allocate(4);
  EXPECT_EQ(found(71), 0);
}

TEST_F(FreeList, WhatIsFoundAgainGoesToItsEnd) {
  serve(1, 70, 4);
  serve(2, 71, 4);
  serve(3, 70, 4);  // The last block is computed anew: one that never held anything.
  cache_.allocate(1);
  EXPECT_EQ(found(70), 4);
  cache_.allocate(1);
  EXPECT_EQ(found(70), 4) << "it was there twice";
  cache_.allocate(4);
  EXPECT_EQ(found(71), 0);
  EXPECT_EQ(found(70), 4);
}

}  // namespace
}  // namespace ridgeline::engine::vllm::fast
