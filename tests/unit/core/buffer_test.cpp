#include "core/buffer.hpp"

#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

std::vector<int> contents(const Buffer<int>& buffer) {
  const std::span<const int> items = buffer.span();
  return {items.begin(), items.end()};
}

TEST(Buffer, HoldsWhatCameSinceItWasCleared) {
  Buffer<int> buffer;
  EXPECT_TRUE(buffer.empty());
  for (int round = 0; round < 3; ++round) {
    buffer.clear();
    for (int i = 0; i < 100 * (round + 1); ++i) {
      buffer.push_back(round + i);
    }
    ASSERT_EQ(buffer.size(), 100U * static_cast<unsigned>(round + 1));
    EXPECT_EQ(buffer.front(), round);
    EXPECT_EQ(buffer.back(), round + 100 * (round + 1) - 1);
    EXPECT_EQ(buffer[50], round + 50);
  }
  buffer.clear();
  buffer.push_back(7);
  EXPECT_EQ(contents(buffer), std::vector{7});
  buffer.pop_back();
  EXPECT_TRUE(buffer.empty());
}

TEST(Buffer, IsExtendedInPlace) {
  Buffer<int> buffer;
  for (int i = 0; i < 100; ++i) {
    buffer.extend() = i;
  }
  ASSERT_EQ(buffer.size(), 100U);
  EXPECT_EQ(buffer[63], 63);
  EXPECT_EQ(buffer.back(), 99);
  buffer.clear();
  buffer.extend() = 5;
  EXPECT_EQ(contents(buffer), std::vector{5});
}

TEST(Buffer, GrowsByAnItemOfItsOwn) {
  Buffer<int> buffer;
  buffer.push_back(5);
  for (int i = 0; i < 1000; ++i) {
    buffer.push_back(buffer.front());
  }
  EXPECT_EQ(contents(buffer), std::vector(1001, 5));
}

TEST(Buffer, ErasesInOrder) {
  Buffer<int> buffer;
  for (const int i : {1, 2, 3, 2, 5}) {
    buffer.push_back(i);
  }
  EXPECT_EQ(buffer.erase(2), 2U);
  EXPECT_EQ(contents(buffer), (std::vector{1, 3, 5}));
  EXPECT_EQ(buffer.erase_if([](int i) { return i > 4; }), 1U);
  EXPECT_EQ(buffer.erase(9), 0U);
  EXPECT_EQ(contents(buffer), (std::vector{1, 3}));
}

}  // namespace
}  // namespace ridgeline::core
