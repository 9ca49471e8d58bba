#include "lab/conform/decisions/decision_case.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/conform/decisions/part.hpp"

namespace ridgeline::conform {
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
  const auto small = parsed("0.1");
  const auto large = parsed("1e12");
  Reading reading;
  recorded.check_number("small", Part(small, reading), 0.1 + 1e-10);
  recorded.check_number("large", Part(large, reading), 1e12 + 100.0);
  EXPECT_FALSE(recorded.difference().has_value());
  recorded.check_number("first", Part(small, reading), 0.1 + 1e-8);
  recorded.check_text("second", "a", "b");
  ASSERT_TRUE(recorded.difference().has_value());
  EXPECT_EQ(recorded.difference()->where, "first");
}

TEST(DecisionCase, ComparesSetsInAnyOrder) {
  const auto node = parsed(R"({"expected": {"picks": ["b", "a"]}})");
  DecisionCase recorded(node);
  recorded.check_places("picks", recorded.expected().at("picks"), {"a", "b", "c"}, {0, 1});
  EXPECT_FALSE(recorded.difference().has_value());
  recorded.check_places("picks", recorded.expected().at("picks"), {"a", "b", "c"}, {0, 2});
  EXPECT_TRUE(recorded.difference().has_value());
  EXPECT_TRUE(recorded.problems().empty());
}

TEST(DecisionCase, NamesWhatWasNotReadOrCompared) {
  const auto node = parsed(R"({"params": {"a": 1, "b": [2, 3]}, "expected": {}})");
  const DecisionCase recorded(node);
  EXPECT_EQ(recorded.params().number("a"), 1.0);
  const auto problems = recorded.problems();
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].field, "params.b[0]");
  EXPECT_EQ(problems[1].field, "params.b[1]");
  const auto nothing = parsed("{}");
  const DecisionCase empty(nothing);
  ASSERT_EQ(empty.problems().size(), 1U);  // It has compared nothing.
}

TEST(DecisionCase, StepsNameWhatIsToBeSeen) {
  const auto node = parsed(R"({"steps": [{"a": 1, "b": 2}],
                               "expected": {"see": "steps[].a, in order; b is an input"}})");
  const DecisionCase right(node);
  EXPECT_EQ(right.steps_with({"a"}).front().number("a"), 1.0);
  ASSERT_EQ(right.problems().size(), 1U);
  EXPECT_EQ(right.problems().front().field, "steps[0].b");
  const DecisionCase wrong(node);
  static_cast<void>(wrong.steps_with({"b"}));
  EXPECT_EQ(wrong.problems().back().field, "expected.see");
}

TEST(RecordedPrompts, EqualContentsShareTheirBeginning) {
  const auto node = parsed(R"({
      "a": {"prompt": [{"content": "g", "tokens": 64}, {"content": "u", "tokens": 9}]},
      "b": {"prompt": [{"content": "g", "tokens": 80}]}})");
  Reading reading;
  const Part both(node, reading);
  RecordedPrompts prompts;
  const auto one = prompts.read(both.at("a"), "tokens");
  const auto other = prompts.read(both.at("b"), "tokens");
  EXPECT_EQ(one.length, 73);
  EXPECT_EQ(one.chain.key(64), other.chain.key(64));
  EXPECT_NE(one.chain.key(65), other.chain.key(65));
}

}  // namespace
}  // namespace ridgeline::conform
