// Sums over requests that decode, against one request after the other.
#include "engine/fast/decode_set.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/units.hpp"

namespace ridgeline::engine::fast {
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
      sum += blocks;
      EXPECT_EQ(set.blocks_in(5000, batch - 5000 + 1), sum);
    }
  }
}

}  // namespace
}  // namespace ridgeline::engine::fast
