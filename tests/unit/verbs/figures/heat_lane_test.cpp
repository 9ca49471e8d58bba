#include "report/chart/heat_lane.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "report/chart/figure.hpp"
#include "report/chart/lanes.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(HeatLane, LinesAreWithinABinOfTheExactNumbers) {
  const auto& result = verbs::fixtures::a_result();
  Lanes lanes(result, {100.0});
  const HeatLane drawn = draw_heat(result, "ttft", 0, "TTFT, ms", lanes);
  const double exact = number_at(result, "summary.ttft_ms.max");
  const double greatest = *std::ranges::max_element(drawn.greatest);
  EXPECT_GE(greatest, exact);
  EXPECT_LE(greatest, exact * 1.0625);  // A bin of 16 to the power of two.
  for (std::size_t i = 0; i < drawn.p50.size(); ++i) {
    EXPECT_LE(drawn.p50[i], drawn.p99[i]);
    EXPECT_LE(drawn.p99[i], drawn.greatest[i]);
  }
  EXPECT_GT(verbs::fixtures::count(lanes.canvas().marks(), "class=\"heat\""), 1);
  // The line of the run's target, and that of its key.
  EXPECT_EQ(verbs::fixtures::count(lanes.canvas().marks(), "class=\"target\""), 2);
}

TEST(HeatLane, RowsTogetherHaveThePercentileOfTheirRequests) {
  const auto& result = verbs::fixtures::a_result();
  const auto all = p99_at_most(result, "ttft", 1'000);
  ASSERT_EQ(all.size(), 1U);
  const double exact = number_at(result, "summary.ttft_ms.p99");
  EXPECT_NEAR(all.front(), exact, 0.1 * exact);
  EXPECT_TRUE(p99_at_most(document::Node(), "ttft", 1).empty());
}

}  // namespace
}  // namespace ridgeline::report::figures
