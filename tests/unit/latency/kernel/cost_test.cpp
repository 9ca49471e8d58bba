#include "latency/kernel/cost.hpp"

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "latency/kernel/constants.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::kernel {
namespace {

TEST(StreamingRate, IsLowerBeforeHopper) {
  GemmConstants constants;
  constants.bandwidth_efficiency = 0.9;
  constants.before_hopper = 0.8;
  for (const char* name : {"a100-80gb", "a40", "l40s", "rtx-4090"}) {
    const hardware::GpuSpec gpu = hardware::find_gpu(name).value();
    EXPECT_DOUBLE_EQ(streaming_rate(constants, gpu).value(), 0.72 * gpu.mem_bandwidth.value());
  }
  for (const char* name : {"h100", "b200", "rtx-pro-6000"}) {
    const hardware::GpuSpec gpu = hardware::find_gpu(name).value();
    EXPECT_DOUBLE_EQ(streaming_rate(constants, gpu).value(), 0.9 * gpu.mem_bandwidth.value());
  }
}

}  // namespace
}  // namespace ridgeline::latency::kernel
