// Blocks: how many a request needs, which are found, and which are taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/kv_cache.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

TEST(TensorRtBlocks, ToTheLastTokenAndForTheNextSteps) {
  ActiveRequests requests(eight_blocks());
  Sequence& context = requests.add_context(6, 7);
  EXPECT_EQ(requests.kv().blocks_to_completion(context), 4);
  EXPECT_EQ(requests.kv().blocks_for_steps(context, 1, 1), 2);
  Sequence& generation = requests.add_generation(8, 7);
  EXPECT_EQ(requests.kv().blocks_to_completion(generation), 2);
  EXPECT_EQ(requests.kv().blocks_for_steps(generation, 1, 1), 1);
  EXPECT_EQ(requests.kv().blocks_for_steps(generation, 2, 4), 2) << "7 tokens of 8 are wanted";
  EXPECT_EQ(requests.kv().blocks_for_steps(requests.add_started(8, 1, 4), 1, 1), 0);
}

class BlockReuseTest : public testing::Test {
 protected:
  /// A request of a text that has been computed, and has ended.
  void compute(std::int64_t tokens, std::uint64_t content) {
    Sequence& sequence = requests_.add_context(tokens, 4, content);
    requests_.kv().start(sequence);
    requests_.kv().store(sequence, tokens, true);
    requests_.kv().release(sequence);
  }
  std::int64_t found(std::int64_t tokens, std::uint64_t content) {
    return requests_.kv().find_prefix(requests_.add_context(tokens, 4, content));
  }
  ActiveRequests requests_{eight_blocks()};
};

TEST_F(BlockReuseTest, AllButTheLastTokenCanBeFound) {
  compute(12, 1);
  EXPECT_EQ(found(12, 1), 11) << "two blocks, and three tokens of the third";
  EXPECT_EQ(found(13, 1), 12);
  EXPECT_EQ(found(20, 1), 12);
  EXPECT_EQ(found(12, 2), 0);
}

TEST_F(BlockReuseTest, ATailIsFoundByItsFirstTokens) {
  compute(10, 1);
  EXPECT_EQ(found(20, 1), 10);
}

TEST_F(BlockReuseTest, WholeBlocksAloneWithoutPartialReuse) {
  ActiveRequests requests({.num_blocks = 8, .tokens_per_block = 4, .enable_partial_reuse = false});
  Sequence& first = requests.add_context(10, 4, 1);
  requests.kv().start(first);
  requests.kv().store(first, 10, true);
  EXPECT_EQ(requests.kv().find_prefix(requests.add_context(20, 4, 1)), 8);
}

TEST_F(BlockReuseTest, BlocksInUseAreNotSharedInPartWithoutCopies) {
  ActiveRequests requests({.num_blocks = 8, .tokens_per_block = 4, .copy_on_partial_reuse = false});
  Sequence& first = requests.add_context(10, 4, 1);
  requests.kv().start(first);
  requests.kv().store(first, 10, true);
  EXPECT_EQ(requests.kv().find_prefix(requests.add_context(20, 4, 1)), 8);
  requests.kv().release(first);
  EXPECT_EQ(requests.kv().find_prefix(requests.add_context(20, 4, 1)), 10);
}

/// Two texts hold 2 of the 8 blocks each. 6 are taken: 4 that hold nothing, and the older text's,
/// its last block first.
TEST_F(BlockReuseTest, TheBlockGivenBackFirstIsTakenFirst) {
  compute(8, 1);
  compute(8, 2);
  Sequence& other = requests_.add_context(20, 4, 3);
  requests_.kv().start(other);
  EXPECT_EQ(found(9, 1), 4);
  EXPECT_EQ(found(9, 2), 8);
  EXPECT_EQ(requests_.kv().num_evicted(), 1);
}

TEST_F(BlockReuseTest, AFoundBlockIsNotFree) {
  compute(8, 1);
  Sequence& again = requests_.add_context(9, 4, 1);
  EXPECT_EQ(requests_.kv().start(again), 8);
  EXPECT_EQ(requests_.kv().num_free(), 5);
  Sequence& third = requests_.add_context(9, 4, 1);
  EXPECT_EQ(requests_.kv().start(third), 8);
  EXPECT_EQ(requests_.kv().num_free(), 4) << "two blocks are shared";
  EXPECT_EQ(requests_.kv().references(third.blocks[0]), 2);
}

TEST_F(BlockReuseTest, WhatWasStoredBeforeTheFirstLookUpIsFound) {
  Sequence& quiet = requests_.add_context(8, 4);
  requests_.kv().start(quiet);
  requests_.kv().store(quiet, 8, true);
  domain::Request quoting = small_request(9, 12, 4);
  quoting.prompt = {{domain::unique_content(quiet.record.id), core::Tokens(8)}};
  requests_.kv().begin_lookups();
  EXPECT_EQ(requests_.kv().find_prefix(Sequence(quoting, core::Tokens(100))), 8);
}

TEST(BlockOrder, WhatIsStoredBehindABlockIsLostWithIt) {
  ActiveRequests requests({.num_blocks = 8, .tokens_per_block = 4, .enable_partial_reuse = false});
  KvCache& kv = requests.kv();
  Sequence& first = requests.add_context(16, 4, 1);
  kv.start(first);  // Blocks 0 to 3.
  kv.store(first, 16, false);
  kv.release(first);  // Free: 4 5 6 7 3 2 1 0.
  // This prompt, sent again, finds all of it but its last block, which it computes into block 4,
  // and writes an answer into 5. Of the two equal blocks 3 is the one stored, and 5 follows it.
  Sequence& again = requests.add_context(16, 8, 1);
  EXPECT_EQ(kv.start(again), 12);
  kv.extend(again, 20);
  kv.store(again, 20, true);
  kv.release(again);  // Free: 6 7 3 5 4 2 1 0.
  EXPECT_EQ(kv.num_evicted(), 0);
  kv.start(requests.add_context(12, 4, 9));  // 6, 7 and 3.
  EXPECT_EQ(kv.num_evicted(), 2) << "blocks 3 and 5";
}

TEST(BlockOrder, ABlockTakenTooManyIsTheNextToBeTaken) {
  ActiveRequests requests(eight_blocks());
  Sequence& sequence = requests.add_context(4, 20, 1);
  requests.kv().start(sequence);
  requests.kv().extend(sequence, 12);
  requests.kv().shrink(sequence, 8);
  requests.kv().extend(sequence, 12);
  EXPECT_EQ(sequence.blocks.back().value(), 2U);
}

TEST(BlockOrder, RequestsThatEndTogetherGiveBackInTheOrderOfTheirArrival) {
  SmallEngine engine(small_options());
  engine.add(small_request(0, 4, 2));
  EXPECT_EQ(engine.step(), "0:4");
  engine.add(small_request(1, 4, 1));
  EXPECT_EQ(engine.step(), "1:4 | 0") << "the context takes block 1, and then 0 block 2";
  engine.add(small_request(2, 56, 2));  // 13 blocks that were never used, and one more.
  EXPECT_EQ(engine.step(), "2:56");
  EXPECT_EQ(engine.scheduler().running().front()->blocks.back().value(), 2U)
      << "the last block of the one that came first";
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
