#include "lab/conform/decisions/decisions.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/conform/conform.hpp"
#include "lab/tests/unit/conform/small_case.hpp"
#include "support/paths.hpp"

namespace ridgeline::conform {
namespace {

const std::vector<SmallCase>& small_cases() {
  static const std::vector<SmallCase> kCases = {
      {"LlmD",
       R"({"system": "llm-d-router", "policy": "queue-scorer", "kind": "score",
           "endpoints": [{"id": "a", "waiting": 4}, {"id": "b", "waiting": 2}, {"id": "c"}],
           "expected": {"scores": {"a": 0, "b": 0.5, "c": 1}}})",
       R"("b": 0.5)",
       R"("b": 0.6)"},
      {"Dynamo",
       R"({"system": "dynamo", "policy": "kv-router", "kind": "pick",
           "params": {"block_size": 16, "track_prefill_tokens": true},
           "request": {"prompt_tokens": 32},
           "endpoints": [{"id": "a", "potential_decode_blocks": 3}, {"id": "b"}],
           "expected": {"costs": [5, 2], "picks": ["b"]}})",
       "[5, 2]",
       "[5, 3]"},
      {"SglangGateway",
       R"({"system": "sglang-gateway", "policy": "cache_aware", "kind": "sequence",
           "params": {"workers": 2, "cache_threshold": 0.3, "balance_abs_threshold": 64,
                      "balance_rel_threshold": 1.5, "max_tree_size": 100},
           "steps": [{"prompt": [{"content": "g", "chars": 9}], "loads": [1, 0],
                      "healthy": [true, true], "routed_to": "w1"}],
           "expected": {"see": "steps[].routed_to"}})",
       R"("w1")",
       R"("w0")"},
      {"Kubernetes",
       R"({"system": "kthena", "policy": "gpu-usage", "kind": "score",
           "endpoints": [{"id": "a", "kv_usage": 0.25}], "expected": {"scores": {"a": 75}}})",
       "75",
       "74"},
  };
  return kCases;
}

TEST(Decisions, AreEqualOrDiffer) {
  for (const SmallCase& one : small_cases()) {
    expect_equal_or_different(one);
  }
}

TEST(Decisions, UnknownPoliciesAreNamed) {
  const auto document = document::parse_json(
      R"([{"system": "dynamo", "policy": "magic", "expected": {}},
          {"system": "oracle", "policy": "any", "expected": {}}, 7])",
      "cases.json");
  const auto results = conform_decisions(*document, "cases.json");
  ASSERT_FALSE(results.has_value());
  ASSERT_EQ(results.error().size(), 3);
  EXPECT_EQ(results.error()[0].message, "no policy 'magic' of a system 'dynamo' is known");
}

/// The one thing that is wrong with a case, as its field.
std::string refused(const std::string& text) {
  const auto document = document::parse_json("[" + text + "]", "cases.json");
  const auto results = conform_decisions(*document, "cases.json");
  if (results || results.error().size() != 1) {
    ADD_FAILURE() << text;
    return {};
  }
  return results.error().front().field;
}

TEST(Decisions, WhatIsNotComparedIsRefused) {
  const std::string scorer = R"("system": "llm-d-router", "policy": "queue-scorer", )";
  const std::string endpoints = R"("endpoints": [{"id": "a", "waiting": 4)";
  // A key that the policy does not read: of an endpoint, a setting, an expectation.
  EXPECT_EQ(
      refused("{" + scorer + endpoints + R"(, "mood": 1}], "expected": {"scores": {"a": 1}}})"),
      "endpoints[0].mood");
  EXPECT_EQ(refused("{" + scorer + R"("params": {"threshold": 3}, )" + endpoints +
                    R"(}], "expected": {"scores": {"a": 1}}})"),
            "params.threshold");
  EXPECT_EQ(refused("{" + scorer + endpoints +
                    R"(}], "expected": {"scores": {"a": 1}, "picks": ["a"]}})"),
            "expected.picks[0]");
  // An expectation that is missing, or of another kind.
  EXPECT_EQ(refused("{" + scorer + endpoints + R"(}], "expected": {}})"), "expected.scores");
  EXPECT_EQ(refused("{" + scorer + endpoints + R"(}], "expected": {"scores": {"a": "1"}}})"),
            "expected.scores.a");
  // Another filter, and a word of a setting that it does not know.
  EXPECT_EQ(refused(R"({"system": "llm-d-router", "policy": "mood-filter",
                        "endpoints": [{"id": "a"}], "expected": {"kept": ["a"]}})"),
            "policy");
  EXPECT_EQ(refused(R"({"system": "llm-d-router", "policy": "utilization-filter",
                        "params": {"conditions": [{"metric": "mood", "maxValue": 1}]},
                        "endpoints": [{"id": "a"}], "expected": {"kept": ["a"]}})"),
            "params.conditions[0].metric");
}

TEST(Decisions, ASequenceGivenToACheckOfSingleDecisionsIsRefused) {
  const auto document = document::parse_json(
      R"([{"system": "dynamo", "policy": "planner/decode", "kind": "sequence",
           "params": {"optimization_target": "load"},
           "steps": [{"at_s": 0, "desired": 7}], "expected": {"see": "steps[].desired"}}])",
      "cases.json");
  const auto results = conform_decisions(*document, "cases.json");
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().front().field, "steps[0].at_s");
}

TEST(Decisions, AListOfNoneIsRefused) {
  const auto document = document::parse_json("[]", "cases.json");
  ASSERT_TRUE(is_decisions(*document));
  EXPECT_FALSE(conform_decisions(*document, "cases.json").has_value());
}

TEST(Decisions, MeasuredCampaignsAloneAreNothingToCompare) {
  const std::string path = testing::TempDir() + "campaigns.json";
  std::ofstream(path) << R"({"campaigns": [], "rows": [{"rate": 1}]})";
  const auto results = conform_files({path});
  ASSERT_FALSE(results.has_value());
  EXPECT_NE(results.error().front().message.find("nothing to compare"), std::string::npos);
}

/// What ten systems decided, executed by themselves.
TEST(Decisions, RepeatEveryRecordedOne) {
  const auto folder = test::shared_dir() / "golden" / "cluster";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no recordings beside this checkout";
  }
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    const auto results = conform_file(entry.path().string());
    ASSERT_TRUE(results.has_value()) << entry.path();
    for (const ConformResult& result : *results) {
      EXPECT_FALSE(result.difference.has_value())
          << result.scenario << ": " << result.difference->where;
    }
    cases += results->size();
  }
  EXPECT_EQ(cases, 289);
}

}  // namespace
}  // namespace ridgeline::conform
