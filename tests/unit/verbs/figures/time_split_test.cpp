#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(TimeSplit, SecondsAreTheSummarys) {
  const auto& result = verbs::fixtures::a_result();
  const Figure figure = time_split(result);
  for (const auto& row : figure.rows) {
    if (row[0] != "idle") {
      EXPECT_EQ(row[1], significant(number_at(result, "summary.time_by_bottleneck." + row[0])));
    }
  }
  EXPECT_EQ(figure.rows.size(), 5U);
}

}  // namespace
}  // namespace ridgeline::report::figures
