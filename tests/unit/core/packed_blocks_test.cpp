#include "core/packed_blocks.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

using Limits = std::numeric_limits<std::int64_t>;
using Values = std::vector<std::int64_t>;

void expect_blocks_back(const std::vector<Values>& blocks) {
  PackedBlocks packed;
  for (const Values& block : blocks) {
    packed.add(block);
  }
  PackedBlocks::Reader reader(packed);
  for (const Values& block : blocks) {
    Values read(block.size());
    reader.next(read);
    EXPECT_EQ(read, block);
  }
}

TEST(PackedBlocks, GivesBackEqualValuesAndSingleOnes) {
  expect_blocks_back(
      {{7}, Values(64, -3), {0}, Values(2, Limits::min()), Values(64, Limits::max())});
}

TEST(PackedBlocks, GivesBackEveryWidth) {
  std::vector<Values> blocks;
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit;
    blocks.push_back({power, 0, power - 1});
    blocks.push_back({-power, power, 1, -1});
    Values full(64, -5);
    full[63] = power;
    blocks.push_back(full);
  }
  blocks.push_back({Limits::min(), Limits::max(), 0, -1});
  expect_blocks_back(blocks);
}

TEST(PackedBlocks, GoesOnBehindAPieceOfMemory) {
  std::mt19937_64 random(1);
  std::vector<Values> blocks;
  for (int i = 0; i < 3000; ++i) {
    const std::size_t size = 1 + random() % PackedBlocks::kMostValues;
    const unsigned shift = random() % 64;
    Values block;
    for (std::size_t n = 0; n < size; ++n) {
      block.push_back(static_cast<std::int64_t>(random() >> shift));
    }
    blocks.push_back(block);
  }
  expect_blocks_back(blocks);
}

TEST(PackedBlocksDeathTest, TakesOneToSixtyFourValues) {
  PackedBlocks packed;
  EXPECT_DEATH(packed.add(Values{}), "size of a block");
  EXPECT_DEATH(packed.add(Values(65, 0)), "size of a block");
}

/// Every so many values of a block, or none of it.
TEST(PackedBlocks, GivesBackSomeOrNone) {
  PackedBlocks packed;
  for (std::int64_t block = 0; block < 500; ++block) {
    Values values;
    for (std::int64_t i = 0; i < 64; ++i) {
      values.push_back(block * 1000 + i * i * (block % 5));
    }
    packed.add(values);
  }
  PackedBlocks::Reader reader(packed);
  for (std::int64_t block = 0; block < 500; ++block) {
    if (block % 3 == 0) {
      reader.skip(64);
      continue;
    }
    Values some(8);
    reader.next(some, 8);
    for (std::int64_t i = 0; i < 8; ++i) {
      EXPECT_EQ(some[static_cast<std::size_t>(i)], block * 1000 + 64 * i * i * (block % 5));
    }
  }
}

}  // namespace
}  // namespace ridgeline::core
