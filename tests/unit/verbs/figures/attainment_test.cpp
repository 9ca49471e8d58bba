#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(Attainment, SharesAreTheSummarys) {
  const auto& result = verbs::fixtures::a_result();
  const Figure figure = attainment(result);
  ASSERT_EQ(figure.rows.size(), 3U);  // All, TTFT, TPOT.
  EXPECT_EQ(figure.rows[0][2], percent(number_at(result, "summary.good_share")));
  EXPECT_EQ(figure.rows[1][2], percent(number_at(result, "summary.slo.ttft.share")));
  EXPECT_EQ(figure.rows[2][2], percent(number_at(result, "summary.slo.tpot.share")));
}

TEST(Attainment, WithoutTargetsThereIsNone) {
  verbs::RunResult run = verbs::fixtures::a_run();
  run.series->slo = {};
  EXPECT_TRUE(attainment(verbs::result_tree(run)).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures
