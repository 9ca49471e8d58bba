#include <gtest/gtest.h>

#include "report/chart/figure.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

TEST(MeanRoofline, HasBothSteps) {
  const Figure figure = mean_roofline(verbs::fixtures::a_result());
  EXPECT_GT(verbs::fixtures::count(figure.marks, "class=\"mark decode\""), 2);
  EXPECT_GT(verbs::fixtures::count(figure.marks, "class=\"mark prefill\""), 2);
  EXPECT_GT(verbs::fixtures::count(figure.marks, "class=\"roof\""), 0);
  EXPECT_FALSE(figure.rows.empty());
  EXPECT_TRUE(figure.description.ends_with("under 1 roof.")) << figure.description;
}

TEST(MeanRoofline, AResultWithoutStepsHasNoPicture) {
  EXPECT_TRUE(mean_roofline(document::Node()).marks.empty());
}

}  // namespace
}  // namespace ridgeline::report::figures
