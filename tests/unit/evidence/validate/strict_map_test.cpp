#include "evidence/validate/strict_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::evidence::validate {
namespace {

TEST(StrictMap, NamesWhatIsWrongAndWhatIsLeft) {
  const auto node = document::parse_json(R"({"a": 3, "b": -1, "c": "x", "d": true})", "f.json");
  StrictMap map(&*node, "f");
  EXPECT_EQ(map.count("a"), 3);
  EXPECT_EQ(map.problem(), "");
  EXPECT_THAT(map.unread(),
              ::testing::ElementsAre("f.b is not read", "f.c is not read", "f.d is not read"));
  EXPECT_FALSE(map.count("missing"));
  EXPECT_EQ(map.flag("d"), "true");
  EXPECT_EQ(map.text("c"), "x");
  static_cast<void>(map.number("b"));
  EXPECT_EQ(map.problem(), "f.b: found -1, expected a number, 0 or more");
  EXPECT_THAT(map.rest(), ::testing::IsEmpty());
}

TEST(StrictMap, ASectionThatIsNoMap) {
  const auto node = document::parse_json("[1]", "f.json");
  EXPECT_EQ(StrictMap(&*node, "f").problem(), "f: found a list, expected a map");
  StrictMap absent(nullptr, "f");
  EXPECT_EQ(absent.text("a"), "");
  EXPECT_EQ(absent.problem(), "");
}

}  // namespace
}  // namespace ridgeline::evidence::validate
