#include "core/ring.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include <gtest/gtest.h>

#include "core/rng.hpp"

namespace ridgeline::core {
namespace {

std::int64_t make_item(std::int64_t number, std::int64_t /*of_type*/) {
  return number;
}
std::string make_item(std::int64_t number, const std::string& /*of_type*/) {
  return "a text too long to stand in the string itself " + std::to_string(number);
}

/// Whatever is done with it, it holds what a deque would: also while it grows, wherever its front
/// stands then.
template <class T>
void expect_like_a_deque(std::uint64_t seed) {
  RngStream rng(seed, 0, "ring");
  Ring<T> ring;
  std::deque<T> expected;
  for (std::int64_t i = 0; i < 3000; ++i) {
    const T item = make_item(i, T{});
    // Grows for a while, then gets shorter, and so on.
    const bool grows = i / 500 % 2 == 0;
    const std::uint64_t what = rng.below(10);
    if (what < (grows ? 5U : 2U)) {
      ring.push_back(item);
      expected.push_back(item);
    } else if (what < (grows ? 7U : 3U)) {
      ring.push_front(item);
      expected.push_front(item);
    } else if (!expected.empty() && what < 8) {
      EXPECT_EQ(ring.back(), expected.back());
      ring.pop_back();
      expected.pop_back();
    } else if (!expected.empty() && what < 9) {
      EXPECT_EQ(ring.front(), expected.front());
      ring.pop_front();
      expected.pop_front();
    } else if (!expected.empty()) {
      const T gone = expected[rng.below(expected.size())];
      ring.erase(gone);
      expected.erase(std::find(expected.begin(), expected.end(), gone));
    }
    ASSERT_EQ(ring.size(), expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(ring[i], expected[i]);
  }
  ring.clear();
  EXPECT_TRUE(ring.empty());
}

TEST(Ring, IsLikeADeque) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    expect_like_a_deque<std::int64_t>(seed);
    expect_like_a_deque<std::string>(seed);
  }
}

}  // namespace
}  // namespace ridgeline::core
