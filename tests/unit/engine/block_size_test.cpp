#include "engine/vllm/fast/block_size.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/units.hpp"

namespace ridgeline::engine::vllm::fast {
namespace {

TEST(BlockSize, DividesAsIntegersDo) {
  for (const std::int64_t size : {1, 16, 48, 784, 1024}) {
    const BlockSize block{core::Tokens(size)};
    EXPECT_EQ(block.value(), size);
    for (std::int64_t n = 0; n < 5000; n += 7) {
      EXPECT_EQ(block.whole(n), n / size);
      EXPECT_EQ(block.covering(n), n / size + (n % size > 0 ? 1 : 0));
      EXPECT_EQ(block.rest(n), n % size);
      EXPECT_EQ((block.rest(-n) + n) % size, 0);
      EXPECT_GE(block.rest(-n), 0);
      EXPECT_LT(block.rest(-n), size);
    }
  }
}

}  // namespace
}  // namespace ridgeline::engine::vllm::fast
