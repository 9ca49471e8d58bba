// Sums over requests that decode, against one request after the other.
#include "engine/vllm/fast/decode_set.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/units.hpp"

namespace ridgeline::engine::vllm::fast {
namespace {

TEST(DecodeSet, CountsBlocksOfEveryBatch) {
  for (const std::int64_t size : {1, 3, 16, 48}) {
    DecodeSet set((core::Tokens(size)));
    const std::vector<std::int64_t> bases = {512, -7, 0, 511, 513, 100, -4096};
    for (const std::int64_t base : bases) {
      set.add(base);
    }
    set.add(77);
    set.remove(77);
    std::int64_t sum = 0;
    std::int64_t places = 0;
    std::int64_t squares = 0;
    for (std::int64_t batch = 5000; batch < 5000 + 3 * size; ++batch) {
      // Before batch m a request with base b has b + m tokens; a block begins where that divides.
      std::int64_t blocks = 0;
      std::int64_t context = 0;
      for (const std::int64_t base : bases) {
        blocks += (base + batch) % size == 0 ? 1 : 0;
        context += base + batch;
        EXPECT_EQ(set.begins_block(base, batch), (base + batch) % size == 0);
      }
      EXPECT_EQ(set.blocks_in(batch), blocks);
      EXPECT_EQ(set.context(batch), core::Tokens(context));
      const std::int64_t place = batch - 5000 + 1;
      // One block less than this batch needs stops before it; as many reach to the next that needs
      // one.
      if (blocks > 0) {
        EXPECT_EQ(set.batches_within(sum + blocks - 1, 5000, 3 * size), place - 1);
      }
      sum += blocks;
      places += blocks * place;
      squares += blocks * place * place;
      EXPECT_GE(set.batches_within(sum, 5000, 3 * size), place);
      EXPECT_EQ(set.batches_within(sum, 5000, place), place);
      const DecodeSet::NewBlocks found = set.new_blocks(5000, place);
      EXPECT_EQ(found.number, sum);
      EXPECT_EQ(found.places, places);
      EXPECT_EQ(found.squares, squares);
    }
  }
}

/// 40,000 requests that begin their blocks with the same batches are more than 16 bits count; when
/// most of them have gone, the rest is.
TEST(DecodeSet, CountsManyMoreThanItUsuallyHas) {
  DecodeSet set(core::Tokens(16));
  for (int i = 0; i < 40'000; ++i) {
    set.add(-3);
  }
  // Blocks begin with batches 3, 19 and 35; from batch 1 on, those are the third and the
  // nineteenth.
  const auto expect_begun = [&set](std::int64_t requests) {
    const DecodeSet::NewBlocks found = set.new_blocks(1, 20);
    EXPECT_EQ(found.number, 2 * requests);
    EXPECT_EQ(found.places, (3 + 19) * requests);
    EXPECT_EQ(found.squares, (9 + 361) * requests);
    EXPECT_EQ(set.new_blocks(1, 2).number, 0);
    EXPECT_EQ(set.blocks_in(19), requests);
  };
  expect_begun(40'000);
  for (int i = 0; i < 39'000; ++i) {
    set.remove(-3);
  }
  expect_begun(1'000);
}

}  // namespace
}  // namespace ridgeline::engine::vllm::fast
