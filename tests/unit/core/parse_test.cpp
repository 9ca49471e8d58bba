#include "core/parse.hpp"

#include <cstdint>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::core {
namespace {

TEST(ParseWhole, TakesAllOfTheTextOrNothing) {
  EXPECT_EQ(parse_whole<std::int64_t>("-12"), -12);
  EXPECT_EQ(parse_whole<double>("1.5e3"), 1500.0);
  for (const char* const text : {"", " 1", "1 ", "+1", "1x", "x", "-"}) {
    EXPECT_EQ(parse_whole<std::int64_t>(text), std::nullopt) << text;
    EXPECT_EQ(parse_whole<double>(text), std::nullopt) << text;
  }
}

TEST(ParseWhole, RefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(parse_whole<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(parse_whole<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(parse_whole<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::core
