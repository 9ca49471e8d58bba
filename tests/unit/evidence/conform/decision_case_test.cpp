#include "evidence/conform/decisions/decision_case.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::evidence::conform {
namespace {

document::Node parsed(const std::string& text) {
  return *document::parse_json(text, "case.json");
}

TEST(DecisionCase, ReadsCandidates) {
  const auto node = parsed(
      R"({"endpoints": [{"id": "e0", "waiting": 3, "running": null, "kv_usage": 0.5,
          "prefix_match_blocks": 2, "prefix_total_blocks": 4, "ttft_headroom_ms": -5}, {"id": "e1"}]})");
  const DecisionCase recorded(node);
  const auto all = recorded.candidates();
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0].gauges.waiting, 3);
  EXPECT_EQ(all[0].gauges.running, 0);
  EXPECT_EQ(all[0].prefix.ratio(), 0.5);
  EXPECT_EQ(all[0].headroom->ttft_ms, -5.0);
  EXPECT_FALSE(all[1].headroom.has_value());
}

TEST(DecisionCase, KeepsTheFirstDifference) {
  const auto node = parsed("{}");
  DecisionCase recorded(node);
  recorded.check_number("small", 0.1, 0.1 + 1e-10);
  recorded.check_number("large", 1e12, 1e12 + 100.0);
  EXPECT_FALSE(recorded.difference().has_value());
  recorded.check_number("first", 0.1, 0.1 + 1e-8);
  recorded.check_text("second", "a", "b");
  ASSERT_TRUE(recorded.difference().has_value());
  EXPECT_EQ(recorded.difference()->where, "first");
}

TEST(DecisionCase, ComparesSetsInAnyOrder) {
  const auto node = parsed(R"({"picks": ["b", "a"]})");
  DecisionCase recorded(node);
  recorded.check_places("picks", items_of(node, "picks"), {"a", "b", "c"}, {0, 1});
  EXPECT_FALSE(recorded.difference().has_value());
  recorded.check_places("picks", items_of(node, "picks"), {"a", "b", "c"}, {0, 2});
  EXPECT_TRUE(recorded.difference().has_value());
}

TEST(RecordedPrompts, EqualContentsShareTheirBeginning) {
  RecordedPrompts prompts;
  const auto one = prompts.read(
      parsed(R"({"prompt": [{"content": "g", "tokens": 64}, {"content": "u", "tokens": 9}]})"),
      "tokens");
  const auto other =
      prompts.read(parsed(R"({"prompt": [{"content": "g", "tokens": 80}]})"), "tokens");
  EXPECT_EQ(one.length, 73);
  EXPECT_EQ(one.chain.key(64), other.chain.key(64));
  EXPECT_NE(one.chain.key(65), other.chain.key(65));
}

}  // namespace
}  // namespace ridgeline::evidence::conform
