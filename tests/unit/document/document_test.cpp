#include "document/document.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::document {
namespace {

TEST(Node, IsNullUnlessSaidOtherwise) {
  const Node node;
  EXPECT_TRUE(node.is_null());
  EXPECT_EQ(node.find("x"), nullptr);
  EXPECT_EQ(node.describe(), "null");
}

TEST(Node, KeepsValueKindAndPlace) {
  const Node node = Node::integer(-7, {.file = "f.yaml", .line = 3, .column = 9});
  EXPECT_EQ(node.kind(), Node::Kind::kInteger);
  EXPECT_EQ(node.as_integer(), -7);
  EXPECT_EQ(node.as_real(), -7.0);
  EXPECT_TRUE(node.is_number());
  EXPECT_EQ(node.where().file, "f.yaml");
  EXPECT_EQ(node.where().line, 3);
  EXPECT_EQ(node.where().column, 9);
  EXPECT_TRUE(Node::real(0.5, {}).is_number());
  EXPECT_TRUE(Node::boolean(true, {}).as_bool());
  EXPECT_EQ(Node::string("x", {}).as_string(), "x");
}

TEST(Node, FindsTheFirstOfDuplicateKeysAndKeepsBoth) {
  std::vector<Node::Member> members;
  members.push_back({"b", Node::integer(1, {}), {}});
  members.push_back({"a", Node::integer(2, {}), {}});
  members.push_back({"b", Node::integer(3, {}), {}});
  const Node map = Node::map(std::move(members), {});
  ASSERT_EQ(map.members().size(), 3U);
  EXPECT_EQ(map.members()[2].key, "b");
  ASSERT_NE(map.find("b"), nullptr);
  EXPECT_EQ(map.find("b")->as_integer(), 1);
  EXPECT_EQ(map.find("c"), nullptr);
}

TEST(Node, DescribesItselfForMessages) {
  EXPECT_EQ(Node::boolean(false, {}).describe(), "false");
  EXPECT_EQ(Node::integer(12, {}).describe(), "12");
  EXPECT_EQ(Node::real(0.25, {}).describe(), "0.25");
  EXPECT_EQ(Node::string("a\nb", {}).describe(), R"("a\nb")");
  EXPECT_EQ(Node::list({}, {}).describe(), "a list");
  EXPECT_EQ(Node::map({}, {}).describe(), "a map");
}

TEST(NodeDeathTest, RefusesToBeReadAsAnotherKind) {
  EXPECT_DEATH(static_cast<void>(Node::string("x", {}).as_integer()), "internal error");
  EXPECT_DEATH(static_cast<void>(Node::real(1.0, {}).as_integer()), "internal error");
  EXPECT_DEATH(static_cast<void>(Node::string("1", {}).as_real()), "internal error");
  EXPECT_DEATH(static_cast<void>(Node::integer(1, {}).as_string()), "internal error");
  EXPECT_DEATH(static_cast<void>(Node::integer(1, {}).as_bool()), "internal error");
  EXPECT_DEATH(static_cast<void>(Node::map({}, {}).items()), "internal error");
  EXPECT_DEATH(static_cast<void>(Node::list({}, {}).members()), "internal error");
}

}  // namespace
}  // namespace ridgeline::document
