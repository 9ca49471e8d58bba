#include "document/node_builder.hpp"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"

namespace ridgeline::document {
namespace {

TEST(NumberNode, IsNullWhereJsonHasNoNumber) {
  EXPECT_DOUBLE_EQ(number_node(1.5).as_real(), 1.5);
  EXPECT_TRUE(number_node(std::nullopt).is_null());
  EXPECT_TRUE(number_node(std::numeric_limits<double>::quiet_NaN()).is_null());
  EXPECT_TRUE(number_node(-std::numeric_limits<double>::infinity()).is_null());
}

TEST(BoolNode, IsNullWhereThereIsNoAnswer) {
  EXPECT_TRUE(bool_node(true).as_bool());
  EXPECT_FALSE(bool_node(false).as_bool());
  EXPECT_TRUE(bool_node(std::nullopt).is_null());
}

TEST(MapBuilder, KeepsTheOrderOfTheCalls) {
  const Node map = MapBuilder().add("b", 1).add("a", "x").add("c", list_node({}));
  ASSERT_EQ(map.members().size(), 3U);
  EXPECT_EQ(map.members()[0].key, "b");
  EXPECT_EQ(map.members()[1].key, "a");
  EXPECT_EQ(map.find("b")->as_integer(), 1);
  EXPECT_EQ(map.find("a")->as_string(), "x");
  EXPECT_TRUE(map.find("c")->items().empty());
}

TEST(MapBuilder, TakesWhatThereIs) {
  const Node map = MapBuilder()
                       .add("none", std::optional<double>())
                       .add("nan", std::numeric_limits<double>::quiet_NaN())
                       .add("yes", true)
                       .add("texts", std::vector<std::string>{"a", "b"})
                       .add("inner", MapBuilder().add("n", 2.5))
                       .add_known("left_out", std::optional<bool>())
                       .add_known("kept", std::optional(3));
  EXPECT_TRUE(map.find("none")->is_null());
  EXPECT_TRUE(map.find("nan")->is_null());
  EXPECT_TRUE(map.find("yes")->as_bool());
  EXPECT_EQ(map.find("texts")->items()[1].as_string(), "b");
  EXPECT_EQ(at_path(map, "inner.n")->as_real(), 2.5);
  EXPECT_EQ(map.find("left_out"), nullptr);
  EXPECT_EQ(map.find("kept")->as_integer(), 3);
}

TEST(NodePath, IsNullWhereNothingStands) {
  const Node map = MapBuilder().add("a", MapBuilder().add("b", "x"));
  EXPECT_EQ(at_path(map, ""), &map);
  EXPECT_EQ(at_path(map, "a.b.c"), nullptr);
  EXPECT_TRUE(node_at(map, "c").is_null());
  EXPECT_EQ(members_at(map, "a").size(), 1U);
  EXPECT_TRUE(members_at(map, "a.b").empty());
}

TEST(WarningsOf, AreThoseOfTheList) {
  const core::Warnings warnings = {{.code = "W-1", .message = "m", .hint = "h"}};
  const core::Warnings again = warnings_of(warnings_node(warnings));
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].code, "W-1");
  EXPECT_EQ(again[0].hint, "h");
  EXPECT_TRUE(warnings_of(Node()).empty());
}

TEST(WarningsNode, CarriesEveryPart) {
  const Node list = warnings_node(
      {{.code = "W-1", .message = "m", .hint = "h"}, {.code = "W-2", .message = "n", .hint = {}}});
  ASSERT_EQ(list.items().size(), 2U);
  EXPECT_EQ(list.items()[0].find("code")->as_string(), "W-1");
  EXPECT_EQ(list.items()[0].find("message")->as_string(), "m");
  EXPECT_EQ(list.items()[0].find("hint")->as_string(), "h");
  EXPECT_EQ(list.items()[1].find("hint")->as_string(), "");
}

}  // namespace
}  // namespace ridgeline::document
