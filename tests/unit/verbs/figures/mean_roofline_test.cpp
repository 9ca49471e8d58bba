#include <gtest/gtest.h>

#include "unit/verbs/run/a_run.hpp"
#include "report/figures/figure.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(MeanRoofline, HasBothSteps) {
  const Figure figure = mean_roofline(verbs::testing::a_result());
  EXPECT_GT(verbs::testing::count(figure.marks, "class=\"mark decode\""), 2);
  EXPECT_GT(verbs::testing::count(figure.marks, "class=\"mark prefill\""), 2);
  EXPECT_GT(verbs::testing::count(figure.marks, "class=\"roof\""), 0);
  EXPECT_FALSE(figure.rows.empty());
  EXPECT_TRUE(figure.description.ends_with("under 1 roof.")) << figure.description;
}

TEST(MeanRoofline, AResultWithoutStepsHasNoPicture) {
  EXPECT_TRUE(mean_roofline(document::Node()).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures
