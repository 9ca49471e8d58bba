#include "latency/power/power_law.hpp"

#include <gtest/gtest.h>

#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency {
namespace {

hardware::GpuSpec known(const char* name) {
  return hardware::find_gpu(name).value();
}

TEST(PowerLaw, AGpuThatWasMeasuredHasItsOwn) {
  // 130 + 700 * (0.295 * sqrt(0.25) + 1.454 * sqrt(0.0625)) = 487.7 W.
  const Watts watts = working_power(known("h100"), {.bandwidth = 0.25, .compute = 0.0625});
  EXPECT_NEAR(watts.expected, 487.7, 1e-9);
  EXPECT_EQ(watts.low, watts.high);
  // 185.714... + 1000 * (0.636 * 0.5 + 0.901 * 0.25) = 728.964... W.
  EXPECT_NEAR(working_power(known("b200"), {.bandwidth = 0.25, .compute = 0.0625}).expected,
              1000.0 * 130.0 / 700.0 + 543.25,
              1e-9);
}

TEST(PowerLaw, AByteDrawsTheSameFromEitherMemoryOfHopper) {
  const hardware::GpuSpec h100 = known("h100");
  const hardware::GpuSpec h200 = known("h200");
  const double share = h100.mem_bandwidth / h200.mem_bandwidth;
  EXPECT_NEAR(working_power(h200, {.bandwidth = 0.25 * share, .compute = 0.0}).expected,
              working_power(h100, {.bandwidth = 0.25, .compute = 0.0}).expected,
              0.1);
}

TEST(PowerLaw, TheLimitHolds) {
  // 130 + 700 * (0.295 + 1.454 * 0.9) > 0.975 * 700 = 682.5 W.
  EXPECT_NEAR(
      working_power(known("h100"), {.bandwidth = 1.0, .compute = 0.81}).expected, 682.5, 1e-9);
}

TEST(PowerLaw, OthersLieBetweenThoseThatWere) {
  const hardware::GpuSpec gpu = known("a100-80gb");
  ASSERT_EQ(gpu.power_watts, 400.0);
  const Watts watts = working_power(gpu, {.bandwidth = 0.25, .compute = 0.0});
  // Share of 400 W: 0.1857... and half of H100's 0.295, or of B200's 0.636. H200's law is none
  // apart.
  EXPECT_NEAR(watts.low, 400.0 * (130.0 / 700.0 + 0.1475), 1e-9);
  EXPECT_NEAR(watts.high, 400.0 * (130.0 / 700.0 + 0.318), 1e-9);
  EXPECT_NEAR(watts.expected, (watts.low + watts.high) / 2, 1e-9);
}

TEST(PowerLaw, WorkAddsToWhatAnAwakeGpuDraws) {
  for (const char* name : {"h100", "b200", "h200", "a100-80gb"}) {
    const hardware::GpuSpec gpu = known(name);
    EXPECT_NEAR(working_power(gpu, {}).low, idle_power(gpu), 1e-9) << name;
    EXPECT_GT(working_power(gpu, {.bandwidth = 0.01, .compute = 0.0}).low, idle_power(gpu)) << name;
  }
}

}  // namespace
}  // namespace ridgeline::latency
