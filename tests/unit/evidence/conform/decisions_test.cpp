#include "evidence/conform/decisions/decisions.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/conform/conform.hpp"
#include "support/paths.hpp"
#include "unit/evidence/conform/small_case.hpp"

namespace ridgeline::evidence::conform {
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
                      "healthy": [true, true], "routed_to": "w1"}], "expected": {}})",
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
}  // namespace ridgeline::evidence::conform
