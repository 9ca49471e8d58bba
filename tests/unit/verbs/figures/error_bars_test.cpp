#include <gtest/gtest.h>

#include "unit/verbs/run/a_run.hpp"
#include "report/figures/figure.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(ErrorBars, AreOfTheHeadlineNumbersThatHaveABand) {
  const auto& result = verbs::testing::a_result();
  const Figure figure = error_bars(result);
  ASSERT_FALSE(figure.rows.empty());
  EXPECT_EQ(figure.rows.front()[0], "mean TTFT");
  EXPECT_EQ(verbs::testing::count(figure.marks, "class=\"whisker\""),
            4 * static_cast<int>(figure.rows.size()));
}

TEST(ErrorBars, WithoutMeasuredRunsThereAreNone) {
  RunResult run = verbs::testing::a_run();
  run.expected_errors.clear();
  EXPECT_TRUE(error_bars(result_tree(run)).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures
