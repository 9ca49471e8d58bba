#include "core/key_map.hpp"

#include <cstdint>
#include <unordered_map>

#include <gtest/gtest.h>

#include "core/rng.hpp"

namespace ridgeline::core {
namespace {

TEST(KeyMap, HoldsWhatAMapOfTheStandardLibraryHolds) {
  RngStream rng(1, 0, "key map", 0);
  KeyMap<std::int64_t> map;
  std::unordered_map<std::uint64_t, std::int64_t> expected;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    // Keys that lie in few places, so that many of them stand behind their own.
    const std::uint64_t key = rng.below(400) << 58U | rng.below(3);
    if (rng.below(3) > 0) {
      map[key] = i;
      expected[key] = i;
    } else if (expected.erase(key) > 0) {
      map.erase(key);
    }
    ASSERT_EQ(map.size(), expected.size());
    const auto found = expected.find(key);
    const std::int64_t* const value = map.find(key);
    ASSERT_EQ(value != nullptr, found != expected.end());
    ASSERT_TRUE(value == nullptr || *value == found->second);
  }
  for (const auto& [key, value] : expected) {
    ASSERT_NE(map.find(key), nullptr);
    EXPECT_EQ(*map.find(key), value);
  }
  map.clear();
  EXPECT_EQ(map.size(), 0U);
  EXPECT_FALSE(map.contains(0));
}

}  // namespace
}  // namespace ridgeline::core
