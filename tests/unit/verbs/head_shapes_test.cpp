#include "verbs/head_shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/kernel_tables.hpp"
#include "verbs/request.hpp"

namespace ridgeline::verbs {
namespace {

using testing::ElementsAre;

TEST(WordLists, PartsBetweenCommas) {
  EXPECT_TRUE(split_list("").empty());
  EXPECT_THAT(split_list("a"), ElementsAre("a"));
  EXPECT_THAT(split_list("a,,b,"), ElementsAre("a", "", "b", ""));
}

TEST(WordLists, WholeNumbersFromOne) {
  EXPECT_EQ(parse_positive("42"), 42);
  EXPECT_EQ(parse_positive("1099511627776"), 1099511627776);
  for (const char* text :
       {"", "0", "-1", "1.5", "4k", " 4", "1099511627777", "99999999999999999999"}) {
    EXPECT_FALSE(parse_positive(text).has_value()) << text;
  }
}

TEST(WordLists, HeadShapes) {
  EXPECT_EQ(parse_head_shape("40-8-128"), (latency::measured::HeadShape{40, 8, 128}));
  for (const char* text :
       {"", "40", "40-8", "40-8-", "40--128", "40-8-128-2", "a-8-128", "0-8-128"}) {
    EXPECT_FALSE(parse_head_shape(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace ridgeline::verbs
