#include "engine/first_use.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {
namespace {

using core::Duration;
using core::Tokens;

constexpr Duration kStall = Duration::milliseconds(900);

TEST(FirstUse, ARangeStallsOnce) {
  FirstUse cold({.stall = kStall, .above = Tokens(512)});
  EXPECT_EQ(cold.take(Tokens(512)), Duration()) << "a graph holds it";
  EXPECT_EQ(cold.take(Tokens(513)), kStall);
  EXPECT_EQ(cold.take(Tokens(513)), Duration());
  EXPECT_EQ(cold.take(Tokens(512 + 512 / kFirstUseRanges)), Duration()) << "the same range";
  EXPECT_EQ(cold.take(Tokens(513 + 512 / kFirstUseRanges)), kStall) << "the next one";
}

TEST(FirstUse, EachDoublingHasAsManyRanges) {
  FirstUse cold({.stall = kStall, .above = Tokens(512)});
  const auto stalls = [&](std::int64_t from, std::int64_t to) {
    std::int64_t count = 0;
    for (std::int64_t tokens = from; tokens <= to; ++tokens) {
      count += cold.take(Tokens(tokens)) > Duration() ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(stalls(513, 1024), kFirstUseRanges);
  EXPECT_EQ(stalls(1025, 2048), kFirstUseRanges);
  EXPECT_EQ(stalls(1, 2048), 0);
}

TEST(FirstUse, RangesAreASetting) {
  FirstUse cold({.stall = kStall, .above = Tokens(512), .ranges = 2});
  EXPECT_EQ(cold.take(Tokens(513)), kStall);
  EXPECT_EQ(cold.take(Tokens(768)), Duration()) << "513 to 768 are one of two";
  EXPECT_EQ(cold.take(Tokens(769)), kStall);
}

TEST(FirstUse, TheLargestStepIsWarm) {
  FirstUse cold({.stall = kStall, .above = Tokens(512), .warm = Tokens(2048)});
  EXPECT_EQ(cold.take(Tokens(2048)), Duration());
  EXPECT_EQ(cold.take(Tokens(2049)), kStall);
}

TEST(FirstUse, NothingStallsWithoutATime) {
  FirstUse warm({});
  EXPECT_EQ(warm.take(Tokens(4000)), Duration());
}

}  // namespace
}  // namespace ridgeline::engine
