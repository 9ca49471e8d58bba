#include "latency/power/power_law.hpp"

#include <gtest/gtest.h>

#include "hardware/gpu_spec.hpp"

namespace ridgeline::latency {
namespace {

hardware::GpuSpec known(const char* name) {
  return hardware::find_gpu(name).value();
}

TEST(PowerLaw, AGpuThatWasMeasuredHasItsOwn) {
  // 311 + 150 * 0.5 + 426 * sqrt(0.09) = 513.8 W.
  const Watts watts = working_power(known("h100"), {.bandwidth = 0.5, .compute = 0.09});
  EXPECT_NEAR(watts.expected, 513.8, 1e-9);
  EXPECT_EQ(watts.low, watts.high);
  // 284 + 742 * 0.5 + 937 * sqrt(0.09) = 936.1 W.
  EXPECT_NEAR(
      working_power(known("b200"), {.bandwidth = 0.5, .compute = 0.09}).expected, 936.1, 1e-9);
}

TEST(PowerLaw, TheLimitHolds) {
  // 311 + 150 + 426 * 0.9 > 0.975 * 700 = 682.5 W.
  EXPECT_NEAR(
      working_power(known("h100"), {.bandwidth = 1.0, .compute = 0.81}).expected, 682.5, 1e-9);
}

TEST(PowerLaw, OthersLieBetweenThoseThatWere) {
  const hardware::GpuSpec gpu = known("h200");
  ASSERT_EQ(gpu.power_watts, 700.0);
  const Watts watts = working_power(gpu, {.bandwidth = 0.5, .compute = 0.0});
  // H100's law: 311 + 75 = 386 W; B200's, scaled from 1,000 W: 0.7 * (284 + 371) = 458.5 W.
  EXPECT_NEAR(watts.low, 386.0, 1e-9);
  EXPECT_NEAR(watts.high, 458.5, 1e-9);
  EXPECT_NEAR(watts.expected, (386.0 + 458.5) / 2, 1e-9);
}

TEST(PowerLaw, IdleIsBelowAnyWork) {
  for (const char* name : {"h100", "b200", "h200", "a100-80gb"}) {
    EXPECT_LT(idle_power(known(name)), working_power(known(name), {}).low) << name;
  }
}

}  // namespace
}  // namespace ridgeline::latency
