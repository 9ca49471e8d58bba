#include "latency/measured/measured_kernels.hpp"

#include <string>

#include <gtest/gtest.h>

#include "latency/measured/kernel_tables.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

hardware::GpuSpec gpu_of_peaks(double bf16, double fp8) {
  hardware::GpuSpec gpu;
  gpu.name = "g";
  gpu.peak_bf16 = core::FlopsPerSecond(bf16);
  gpu.peak_fp8 = core::FlopsPerSecond(fp8);
  return gpu;
}

GemmTable gemm_of(const std::string& rows) {
  return read_gemm_table("m,k,n,latency_us,mfu\n" + rows, "t").tables.front();
}

TEST(MeasuredKernels, TheMfuTellsTheFormat) {
  // 2 * 1000 * 1000 * 500 FLOP in 10 us are 100 TFLOP/s.
  const auto gpu = gpu_of_peaks(200e12, 400e12);
  EXPECT_FALSE(is_8bit_table(gemm_of("500,1000,1000,10,0.5\n"), gpu));
  EXPECT_TRUE(is_8bit_table(gemm_of("500,1000,1000,10,0.25\n"), gpu));
  // Without an MFU that tells, the speed does: 250 TFLOP/s is more than 16 bit can.
  EXPECT_TRUE(is_8bit_table(gemm_of("500,1000,1000,4,0\n"), gpu));
  EXPECT_FALSE(is_8bit_table(gemm_of("500,1000,1000,10,0\n"), gpu));
  EXPECT_FALSE(is_8bit_table(gemm_of("500,1000,1000,10,0.25\n"), gpu_of_peaks(200e12, 0.0)));
}

TEST(MeasuredKernels, RanksHoldTheirShareOfHeads) {
  EXPECT_EQ(rank_shape({64, 8, 128}, 4), (HeadShape{16, 2, 128}));
  EXPECT_EQ(rank_shape({64, 2, 128}, 4), (HeadShape{16, 1, 128}));
}

TEST(MeasuredKernels, LeavesOutAFirstRowThatHarderOnesBeat) {
  const TableFolder folder;
  folder.write_sound();
  folder.write("mha/decode/g/8-8-64-tp4.csv",
               "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n"
               "bf16,bf16,1,1000,40,0.1\nbf16,bf16,1,4000,20,0.1\nbf16,bf16,1,9000,30,0.1\n");
  const auto measured = load_measured_kernels(folder.path(), gpu_of_peaks(1e15, 2e15)).value();
  ASSERT_EQ(measured.gemms.size(), 1U);
  EXPECT_EQ(measured.gemms[0].points.size(), 5U);
  ASSERT_EQ(measured.prefills.size(), 2U);
  EXPECT_EQ(measured.prefills[1].points[1].us, 200.0);
  ASSERT_EQ(measured.decodes.size(), 3U);
  const MeasuredDecode& odd = measured.decodes[2];
  EXPECT_EQ(odd.shape, (HeadShape{2, 2, 64}));
  EXPECT_TRUE(odd.host_timed);
  ASSERT_EQ(odd.points.size(), 2U);
  EXPECT_EQ(odd.points[0].kv_len, 4000);
}

}  // namespace
}  // namespace ridgeline::latency::measured
