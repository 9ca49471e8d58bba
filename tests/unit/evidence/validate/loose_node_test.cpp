#include "evidence/validate/loose_node.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::evidence::validate {
namespace {

TEST(LooseNode, WrongKindsCountAsAbsent) {
  const auto node =
      document::parse_json(R"({"n": 2.5, "t": true, "s": "Ab", "z": null, "neg": -1, "big": 1e30})",
                           "own.json")
          .value();
  EXPECT_EQ(number_at(node, "n"), 2.5);
  EXPECT_EQ(count_at(node, "n"), 3);  // the nearest whole number, half up
  EXPECT_FALSE(number_at(node, "s").has_value());
  EXPECT_FALSE(number_at(node, "z").has_value());
  EXPECT_FALSE(count_at(node, "neg").has_value());
  EXPECT_FALSE(count_at(node, "big").has_value());
  EXPECT_EQ(truth_at(node, "t"), true);
  EXPECT_FALSE(truth_at(node, "n").has_value());
  EXPECT_EQ(text_at(node, "s"), "Ab");
  EXPECT_EQ(text_at(node, "n"), "2.5");
  EXPECT_EQ(text_at(node, "t"), "");
  EXPECT_EQ(member_at(node, "z"), nullptr);
  EXPECT_TRUE(mentions("vLLM 0.11", "VLLM"));
  EXPECT_FALSE(mentions("vLLM", "sglang"));
}

}  // namespace
}  // namespace ridgeline::evidence::validate
