#include "verbs/run/run_comparison.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/verbs/run/example_result.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::HasSubstr;

/// The second has no answer that was timed.
std::vector<ComparedRun> two_runs() {
  std::vector<ComparedRun> runs = {{.model = "kernel", .result = fixtures::example_result()},
                                   {.model = "v1", .result = fixtures::example_result()}};
  runs[1].result.headline[0] += ", step times by v1";
  runs[1].result.summary.client.by_metric[3] = fixtures::ramp(13680.0);
  runs[1].result.summary.client.by_metric[0].reset();
  return runs;
}

TEST(RunComparison, PutsModelsSideBySide) {
  const std::string text = run_comparison_table(two_runs(), {});
  EXPECT_THAT(text, ::testing::StartsWith("llama-3.1-8b on h100   8 req/s (Poisson)   seed 1\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("E2E ratio +1.00 +2.00\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("TTFT mean +ms +182 +-\n"));
}

TEST(RunComparison, AWarningOfBothIsSaidOnce) {
  auto runs = two_runs();
  for (ComparedRun& run : runs) {
    run.result.warnings = {{.code = "W-x", .message = "the same", .hint = ""}};
  }
  const std::string text = run_comparison_table(runs, {});
  EXPECT_EQ(text.find("W-x"), text.rfind("W-x"));
}

TEST(RunComparison, TheTreeHasEachWholeResult) {
  const auto tree = run_comparison_tree(two_runs());
  ASSERT_EQ(tree.find("models")->items().size(), 2U);
  EXPECT_NE(tree.find("models")->items()[1].find("summary"), nullptr);
}

TEST(RunComparison, TheTableForProgramsHasOneLineOfNames) {
  const std::string text = run_comparison_csv(two_runs());
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
}

}  // namespace
}  // namespace ridgeline::verbs
