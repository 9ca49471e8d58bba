#include "latency/power/power_law.hpp"

#include <gtest/gtest.h>

#include "hardware/gpu_spec.hpp"

namespace ridgeline::latency {
namespace {

hardware::GpuSpec known(const char* name) {
  return hardware::find_gpu(name).value();
}

TEST(PowerLaw, AGpuThatWasMeasuredHasItsOwn) {
  // 209 + 370 * 0.5 + 1234 * 0.1 = 517.4 W.
  const Watts watts = working_power(known("h100"), {.bandwidth = 0.5, .compute = 0.1});
  EXPECT_NEAR(watts.expected, 517.4, 1e-9);
  EXPECT_EQ(watts.low, watts.high);
  // 242 + 859 * 0.5 + 2830 * 0.1 = 954.5 W.
  EXPECT_NEAR(
      working_power(known("b200"), {.bandwidth = 0.5, .compute = 0.1}).expected, 954.5, 1e-9);
}

TEST(PowerLaw, TheLimitHolds) {
  // 209 + 1234 * 0.5 > 0.975 * 700 = 682.5 W.
  EXPECT_NEAR(
      working_power(known("h100"), {.bandwidth = 0.0, .compute = 0.5}).expected, 682.5, 1e-9);
}

TEST(PowerLaw, OthersLieBetweenThoseThatWere) {
  const hardware::GpuSpec gpu = known("h200");
  ASSERT_EQ(gpu.power_watts, 700.0);
  const Watts watts = working_power(gpu, {.bandwidth = 0.5, .compute = 0.0});
  // H100's law: 209 + 185 = 394 W; B200's, scaled from 1,000 W: 0.7 * (242 + 429.5) = 470.05 W.
  EXPECT_NEAR(watts.low, 394.0, 1e-9);
  EXPECT_NEAR(watts.high, 470.05, 1e-9);
  EXPECT_NEAR(watts.expected, (394.0 + 470.05) / 2, 1e-9);
}

TEST(PowerLaw, IdleIsBelowAnyWork) {
  for (const char* name : {"h100", "b200", "h200", "a100-80gb"}) {
    EXPECT_LT(idle_power(known(name)), working_power(known(name), {}).low) << name;
  }
}

}  // namespace
}  // namespace ridgeline::latency
