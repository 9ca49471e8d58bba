#include "sweep/shard.hpp"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::sweep {
namespace {

TEST(ReadShard, TakesAnIndexFromZeroAndACount) {
  const auto shard = read_shard("3/8");
  ASSERT_TRUE(shard);
  EXPECT_TRUE(shard->has(3));
  EXPECT_TRUE(shard->has(11));
  EXPECT_FALSE(shard->has(4));
}

TEST(ReadShard, EveryPointIsInOneShard) {
  for (std::int64_t ordinal = 0; ordinal < 100; ++ordinal) {
    int found = 0;
    for (std::int64_t i = 0; i < 7; ++i) {
      found += Shard{.index = i, .count = 7}.has(ordinal) ? 1 : 0;
    }
    EXPECT_EQ(found, 1);
  }
}

TEST(ReadShard, RefusesOthers) {
  for (const char* text : {"", "3", "8/8", "-1/8", "1/0", "a/b", "1/8x", "0/1000000"}) {
    const auto shard = read_shard(text);
    ASSERT_FALSE(shard) << text;
    EXPECT_THAT(shard.error().front().message, testing::HasSubstr("expected I/N"));
  }
}

}  // namespace
}  // namespace ridgeline::sweep
