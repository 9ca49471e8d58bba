#include <gtest/gtest.h>

#include "report/chart/figure.hpp"
#include "unit/verbs/run/a_run.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(ErrorBars, AreOfTheHeadlineNumbersThatHaveABand) {
  const auto& result = verbs::fixtures::a_result();
  const Figure figure = error_bars(result);
  ASSERT_FALSE(figure.rows.empty());
  EXPECT_EQ(figure.rows.front()[0], "mean TTFT");
  EXPECT_EQ(verbs::fixtures::count(figure.marks, "class=\"whisker\""),
            4 * static_cast<int>(figure.rows.size()));
}

TEST(ErrorBars, WithoutMeasuredRunsThereAreNone) {
  verbs::RunResult run = verbs::fixtures::a_run();
  run.expected_errors.clear();
  EXPECT_TRUE(error_bars(verbs::result_tree(run)).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures
