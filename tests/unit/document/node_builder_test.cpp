#include "document/node_builder.hpp"

#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "document/document.hpp"

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
  const Node map = MapBuilder()
                                 .add("b", 1)
                                 .add("a", "x")
                                 .add("c", list_node({}))
                                 ;
  ASSERT_EQ(map.members().size(), 3U);
  EXPECT_EQ(map.members()[0].key, "b");
  EXPECT_EQ(map.members()[1].key, "a");
  EXPECT_EQ(map.find("b")->as_integer(), 1);
  EXPECT_EQ(map.find("a")->as_string(), "x");
  EXPECT_TRUE(map.find("c")->items().empty());
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
