#include "ridgeline/tree.hpp"

#include <memory>
#include <optional>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline {
namespace {

Tree parsed(const char* json) {
  return Tree(std::make_shared<const document::Node>(*document::parse_json(json, "")));
}

TEST(PublicTree, ReadsEveryKind) {
  const Tree tree = parsed(R"({"a": [1, 2.5, "x", true, null], "b": {}})");
  EXPECT_EQ(tree.kind(), Tree::Kind::kMap);
  EXPECT_EQ(tree.size(), 2U);
  EXPECT_EQ(tree.key(1), "b");
  EXPECT_EQ(tree["a"][0].integer(), 1);
  EXPECT_EQ(tree["a"][0].number(), 1.0);
  EXPECT_EQ(tree["a"][1].number(), 2.5);
  EXPECT_EQ(tree["a"][1].integer(), std::nullopt);
  EXPECT_EQ(tree["a"][2].text(), "x");
  EXPECT_EQ(tree["a"][3].boolean(), true);
  EXPECT_TRUE(tree["a"][4].is_null());
}

TEST(PublicTree, WhatIsNotThereIsNull) {
  const Tree tree = parsed(R"({"a": [1]})");
  EXPECT_TRUE(tree["b"]["c"][7].is_null());
  EXPECT_TRUE(tree["a"][1].is_null());
  EXPECT_EQ(tree["a"].key(0), "");
  EXPECT_TRUE(Tree().is_null());
  EXPECT_EQ(Tree().json(), "null\n");
}

TEST(PublicTree, APartKeepsTheWhole) {
  Tree part = parsed(R"({"a": {"b": "kept"}})")["a"];
  EXPECT_EQ(part["b"].text(), "kept");
  EXPECT_EQ(part.json(), "{\n  \"b\": \"kept\"\n}\n");
}

}  // namespace
}  // namespace ridgeline
