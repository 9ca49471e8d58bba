#include "model/hardware/facts.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GpuSpec h100() {
  const auto gpu = find_gpu("h100");
  EXPECT_TRUE(gpu.has_value());
  return gpu.value_or(GpuSpec{});
}

std::vector<std::string> odd(const GpuSpec& gpu) {
  std::vector<std::string> messages;
  for (const core::Warning& warning : odd_facts(gpu)) {
    EXPECT_EQ(warning.code, "W-odd-gpu");
    messages.push_back(warning.message);
  }
  return messages;
}

TEST(GpuFacts, NoGpuOfTheCatalogueIsOdd) {
  for (const std::string& name : catalogue_names()) {
    EXPECT_THAT(odd(find_gpu(name).value_or(GpuSpec{})), IsEmpty()) << name;
  }
}

TEST(GpuFacts, AValueFarFromTheCatalogueIsOdd) {
  GpuSpec gpu = h100();
  gpu.mem_bandwidth = core::BytesPerSecond(5.0e9);
  gpu.l2_cache = core::Bytes(64.0 * 1024 * 1024 * 1024);
  EXPECT_THAT(
      odd(gpu),
      ElementsAre(
          "hardware.mem_bandwidth is 5 GB/s, GPUs of the catalogue have 273 GB/s to 8000 GB/s",
          AllOf(HasSubstr("hardware.l2_cache is 65536 MiB"), HasSubstr("to 256 MiB"))));
}

TEST(GpuFacts, APeakWithSparsityIsOdd) {
  GpuSpec gpu = h100();
  gpu.peak_bf16 = core::FlopsPerSecond(1979e12);
  gpu.peak_fp8 = core::FlopsPerSecond(3958e12);
  EXPECT_THAT(odd(gpu),
              ElementsAre("hardware.peak_bf16 is 1979 TFLOP/s, 2.0 times as much per SM and clock "
                          "as any GPU of architecture hopper in the catalogue",
                          HasSubstr("hardware.peak_fp8 is 3958 TFLOP/s, 2.0 times")));
}

TEST(GpuFacts, ANarrowFormatSlowerThanBf16IsOdd) {
  GpuSpec gpu = h100();
  gpu.peak_fp8 = core::FlopsPerSecond(500e12);
  EXPECT_THAT(odd(gpu),
              ElementsAre("hardware.peak_fp8 is 500 TFLOP/s, below peak_bf16, 989 TFLOP/s"));
}

TEST(GpuFacts, NamesWhatDiffers) {
  GpuSpec gpu = h100();
  gpu.name = "mine";
  EXPECT_THAT(differing_facts(gpu, h100()), IsEmpty());
  gpu.mem_bandwidth = core::BytesPerSecond(1e12);
  gpu.has_nvlink = false;
  gpu.architecture = "ada";
  EXPECT_THAT(differing_facts(gpu, h100()),
              ElementsAre("architecture", "mem_bandwidth", "has_nvlink"));
}

}  // namespace
}  // namespace ridgeline::hardware
