#include "verbs/run/markdown.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/verbs/run/example_result.hpp"

namespace ridgeline::verbs {
namespace {

using testing::example_result;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::rejected_result;

TEST(SummaryMarkdown, HasATableOfLatencies) {
  const std::string text = summary_markdown(example_result());
  EXPECT_THAT(text,
              HasSubstr("| ms | mean | std | p50 | p90 | p95 | p99 | max |\n"
                        "|---|--:|--:|--:|--:|--:|--:|--:|\n"
                        "| TTFT | 182 | 183 | 184 | 185 | 186 | 187 | 188 |\n"));
  EXPECT_THAT(text, HasSubstr("| E2E (server) | 6 800 | 6 801 | 6 802 |"));
  EXPECT_THAT(text, HasSubstr("| queue | 0.500 | 1.50 |"));
}

TEST(SummaryMarkdown, HasATableOfTheOtherNumbers) {
  const std::string text = summary_markdown(example_result());
  EXPECT_THAT(text, HasSubstr("| failed | 4 |\n"));
  EXPECT_THAT(text, HasSubstr("| output throughput | 2 841 tok/s |\n"));
  EXPECT_THAT(text, HasSubstr("| KV cache peak | 91.4 % |\n"));
  EXPECT_THAT(text, HasSubstr("| memory time | 81.0 s |\n"));
  EXPECT_THAT(text, HasSubstr("\ndigest `9f3c17aa`\n"));
}

TEST(SummaryMarkdown, ShowsWarningsOnlyWhereThereAre) {
  EXPECT_THAT(summary_markdown(example_result()),
              HasSubstr("- **W-max-model-len** max\\_model\\_len is 8192 because no more fits "
                        "(--max-model-len)\n"));
  EXPECT_THAT(summary_markdown(rejected_result(1)), Not(HasSubstr("- **")));
}

TEST(SummaryMarkdown, MarksAbsentNumbers) {
  const std::string text = summary_markdown(rejected_result(1));
  EXPECT_THAT(text, HasSubstr("| TPOT | \u2013 | \u2013 |"));
  EXPECT_THAT(text, HasSubstr("| goodput | \u2013 |\n"));
}

TEST(SummaryMarkdown, TextFromOutsideIsNoMarkup) {
  RunResult result = example_result();
  result.headline = {"<b>a|b</b>", "[x](y)"};
  EXPECT_THAT(summary_markdown(result), HasSubstr("\\<b\\>a\\|b\\</b\\>, \\[x\\](y)\n"));
}

TEST(SummaryMarkdown, ShowsTheDeploymentBesideItsRank) {
  RunResult result = example_result();
  EXPECT_THAT(summary_markdown(result), Not(HasSubstr("ranks")));
  result.deployment.emplace();
  result.deployment->data_parallel_size = 8;
  result.deployment->loaded_ranks = 4;
  result.deployment->requests = 1200;
  result.deployment->output_throughput = 5000.0;
  const std::string text = summary_markdown(result);
  EXPECT_THAT(text, HasSubstr("| all 8 ranks | |\n"));
  EXPECT_THAT(text, HasSubstr("| ranks with requests | 4 |\n| requests | 1 200 |\n"));
  EXPECT_THAT(text, HasSubstr("| output throughput | 5 000 tok/s |\n"));
}

}  // namespace
}  // namespace ridgeline::verbs
