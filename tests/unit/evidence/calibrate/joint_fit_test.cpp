#include "evidence/calibrate/joint_fit.hpp"

#include <gtest/gtest.h>

#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "unit/evidence/calibrate/measured_loops.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

// A time to first token holds a prompt's kernels, too: slower ones leave less to the delivery.
TEST(JointIntervals, HoldWhatOtherKernelsWouldLeaveToAConstant) {
  const auto evidence = measured_loops({1, 1, 1});
  Observations observations(evidence, {});
  ASSERT_EQ(observations.find({}), "");
  EXPECT_GT(observations.kernel_spread(), 0.02);
  Constants constants = constants_of({"delivery_time"});
  // Fitted: nothing is left with the kernels as they are.
  const double range = constants[0].range();
  const double left = observations.residuals(overrides_of(constants))[0];
  constants[0].value -= left * 40'000.0;
  EXPECT_NEAR(observations.residuals(overrides_of(constants))[0], 0.0, 1e-6);
  const auto intervals = joint_intervals(observations, constants);
  ASSERT_EQ(intervals.size(), 1U);
  EXPECT_LT(intervals[0].lowest, constants[0].value - 200.0);
  EXPECT_GT(intervals[0].highest, constants[0].value + 200.0);
  EXPECT_LT(intervals[0].highest - intervals[0].lowest, 0.2 * range);
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate
