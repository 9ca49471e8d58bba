#include "latency/kernel/gemm.hpp"

#include <array>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

Cost price(const GemmShape& shape, model::DType weights, const hardware::GpuSpec& gpu) {
  const MatmulFormat format = matmul_format(weights, gpu);
  return gemm(shape, format, calibrate(first_constants(), gpu).gemm(weights, format).values, gpu);
}

double microseconds(const GemmShape& shape, model::DType weights, const std::string& gpu) {
  return core::as_microseconds(price(shape, weights, fixtures::gpu(gpu)).time);
}

/// Times in us that another implementation printed, from constants before they were rounded to
/// three digits.
TEST(Gemm, ReproducesTheGoldenTimes) {
  struct Golden {
    GemmShape shape;
    double h100;
    double a100;
  };
  constexpr std::array<Golden, 6> kGolden = {{{{1, 4096, 4096}, 15.03, 29.06},
                                              {{16, 4096, 22016}, 64.04, 123.46},
                                              {{128, 8192, 14336}, 85.09, 189.48},
                                              {{512, 4096, 12288}, 69.20, 215.95},
                                              {{2048, 4096, 22016}, 448.55, 1369.18},
                                              {{8192, 8192, 8192}, 1348.31, 3994.33}}};
  for (const Golden& row : kGolden) {
    const double h100 = microseconds(row.shape, model::DType::kBf16, "h100");
    const double a100 = microseconds(row.shape, model::DType::kBf16, "a100-80gb");
    EXPECT_NEAR(h100, row.h100, row.h100 * 1e-3) << row.shape.m;
    EXPECT_NEAR(a100, row.a100, row.a100 * 1e-3) << row.shape.m;
  }
  EXPECT_NEAR(microseconds({64, 8192, 8192}, model::DType::kFp8, "h100"), 29.18, 29.18 * 1e-3);
}

/// No ramp, no penalty, everything at the peak: one row is a stream of its weights.
TEST(Gemm, OneRowStreamsTheWeights) {
  const GemmConstants ideal{.fixed = core::microseconds(2.0),
                            .bandwidth_efficiency = 1.0,
                            .ramp = {},
                            .ramp_bytes = core::Bytes(1.0),
                            .compute_efficiency = 1.0,
                            .small_tile_penalty = 0.0,
                            .overlap_exponent = 64.0,
                            .split = {}};
  const auto gpu = fixtures::gpu("h100");
  const Cost cost =
      gemm({.m = 1, .k = 4096, .n = 8192}, matmul_format(model::DType::kBf16, gpu), ideal, gpu);
  // 2*(4096*8192 + 4096 + 8192) = 67,133,440 bytes / 3.35e12 = 20.0398 us, plus 2. Compute: 128
  // tiles of 64 x 64, one wave of 132 SMs: 2*64*64*4096 / (989e12/132) = 4.48 us; at exponent 64 it
  // adds nothing.
  EXPECT_DOUBLE_EQ(cost.bytes.value(), 67'133'440.0);
  EXPECT_NEAR(core::as_microseconds(cost.time), 22.0398, 1e-4);
  EXPECT_EQ(cost.kind, domain::Bottleneck::kMemory);
}

/// 132 tiles of 128 x 256 fill an H100 once; one more tile is one more wave, whatever the bytes.
TEST(Gemm, WavesOfTiles) {
  const GemmConstants ideal{.fixed = {},
                            .bandwidth_efficiency = 1.0,
                            .ramp = {},
                            .ramp_bytes = core::Bytes(1.0),
                            .compute_efficiency = 1.0,
                            // At half the area, half of the peak is lost: the largest tile wins.
                            .small_tile_penalty = 0.5,
                            .overlap_exponent = 64.0,
                            .split = core::microseconds(1e4)};
  const auto gpu = fixtures::gpu("h100");
  const MatmulFormat format = matmul_format(model::DType::kBf16, gpu);
  // 12 * 11 tiles: 2*128*256*65536 FLOPs / (989e12/132) = 573.24 us a wave.
  EXPECT_NEAR(core::as_microseconds(
                  gemm({.m = 12 * 128, .k = 65536, .n = 11 * 256}, format, ideal, gpu).time),
              573.24,
              0.01);
  // One more row makes 13 * 11 tiles: two waves.
  EXPECT_NEAR(core::as_microseconds(
                  gemm({.m = 12 * 128 + 1, .k = 65536, .n = 11 * 256}, format, ideal, gpu).time),
              2 * 573.24,
              0.02);
}

/// The H100 at its peaks, without any of the terms that only some sets have.
GemmConstants plain_gemm() {
  return {.fixed = {},
          .bandwidth_efficiency = 1.0,
          .ramp = {},
          .ramp_bytes = core::Bytes(1.0),
          .compute_efficiency = 1.0,
          .small_tile_penalty = 0.5,
          .overlap_exponent = 64.0,
          .split = core::microseconds(1e4)};
}

double h100_microseconds(const GemmShape& shape,
                         const GemmConstants& constants,
                         model::DType weights = model::DType::kBf16) {
  const auto gpu = fixtures::gpu("h100");
  return core::as_microseconds(gemm(shape, matmul_format(weights, gpu), constants, gpu).time);
}

TEST(Gemm, SmoothWavesDoNotRoundUp) {
  GemmConstants smooth = plain_gemm();
  smooth.wave_smoothing = 1.0;
  // 13 * 11 tiles of 128 x 256 on 132 SMs are 1.08333 waves of 573.24 us; below one wave it
  // stays 1.
  EXPECT_NEAR(h100_microseconds({12 * 128 + 1, 65536, 11 * 256}, smooth), 621.01, 0.02);
  EXPECT_NEAR(h100_microseconds({128, 65536, 11 * 256}, smooth), 573.24, 0.02);
}

TEST(Gemm, TilesPayAStartupDepth) {
  GemmConstants deep = plain_gemm();
  deep.startup_depth = 65536.0;
  EXPECT_NEAR(h100_microseconds({12 * 128, 65536, 11 * 256}, deep), 2 * 573.24, 0.02);
}

TEST(Gemm, LongKernelsSlowDown) {
  GemmConstants hot = plain_gemm();
  hot.sustained_slowdown = 0.2;
  // 573.24 us * (1 + 0.2 * 573.24 / (573.24 + 1000))
  EXPECT_NEAR(h100_microseconds({12 * 128, 65536, 11 * 256}, hot), 615.02, 0.02);
}

TEST(Gemm, ActivationsAreReadAgainPerColumnOfTiles) {
  GemmConstants rereading = plain_gemm();
  rereading.small_tile_penalty = 0.0;
  const double once = h100_microseconds({16, 8192, 8192}, rereading);
  rereading.reread_factor = 0.5;
  // 0.5 * 2 * 16 * 8192 * 8192 / 128 bytes more at 3.35e12: 2.504 us.
  EXPECT_NEAR(h100_microseconds({16, 8192, 8192}, rereading) - once, 2.504, 1e-3);
}

/// 8-bit at half the peak: a wave of 128 x 128 x 8192 takes 2*128*128*8192 / (0.5*1979e12/132) =
/// 35.808 us.
TEST(Gemm, TilesChosenByRowsComeInClustersOfTwo) {
  GemmConstants rows = plain_gemm();
  rows.compute_efficiency = 0.5;
  rows.tiles_by_rows = TilesByRows{.efficiency_up_to_64 = 0.25,
                                   .efficiency_up_to_128 = 0.25,
                                   .efficiency_large = 0.25,
                                   .partial_cluster_penalty = 0.0};
  const auto time = [&rows](std::int64_t m, std::int64_t k, std::int64_t n) {
    return h100_microseconds({m, k, n}, rows, model::DType::kFp8);
  };
  // 4 clusters of 2 x 16 tiles are 128 of 132; one row more makes 5, so 160.
  EXPECT_NEAR(time(1024, 8192, 2048), 35.808, 0.01);
  EXPECT_NEAR(time(1025, 8192, 2048), 2 * 35.808, 0.01);
  // 64 x 128 and 64 x 64 at a quarter of the peak, 64 x 16 for narrow outputs; eight times as deep.
  EXPECT_NEAR(time(128, 65536, 128), 8 * 35.808 / 2 * 2, 0.1);
  EXPECT_NEAR(time(64, 65536, 2048), 8 * 35.808 / 4 * 2, 0.1);
  EXPECT_NEAR(time(64, 65536, 1280), 8 * 35.808 / 16 * 2, 0.1);
  // From 8,192 rows and a depth of 6,144 on at a quarter of the peak.
  EXPECT_NEAR(time(8192, 8192, 128), 2 * 35.808, 0.01);
  EXPECT_NEAR(time(8191, 8192, 128), 35.808, 0.01);
  EXPECT_NEAR(time(8192, 6143, 128), 35.808 * 6143 / 8192, 0.01);
  rows.tiles_by_rows->partial_cluster_penalty = 0.4;
  EXPECT_NEAR(time(384, 8192, 128), 35.808 * 1.2, 0.01);  // the second cluster is half full
}

/// 2*(8192*8192 + ...) bytes take some 40 us at 3.35 TB/s and 0.9215, whatever the rows; products
/// of 64 rows 9 us at 989 TFLOP/s, of 1024 rows 140 us. A launch takes 2.6 us.
TEST(Gemm, TheLargestTermIsTheKind) {
  const auto gpu = fixtures::gpu("h100");
  const auto kind = [&](const GemmShape& shape) {
    return price(shape, model::DType::kBf16, gpu).kind;
  };
  EXPECT_EQ(kind({64, 8192, 8192}), domain::Bottleneck::kMemory);
  EXPECT_EQ(kind({1024, 8192, 8192}), domain::Bottleneck::kCompute);
  EXPECT_EQ(kind({1, 256, 256}), domain::Bottleneck::kOverhead);
}

TEST(Gemm, FormatsThatTheGpuLacksAreExpanded) {
  const auto a100 = fixtures::gpu("a100-80gb");
  const MatmulFormat fp8 = matmul_format(model::DType::kFp8, a100);
  EXPECT_FALSE(fp8.is_8bit);
  EXPECT_DOUBLE_EQ(fp8.weight_bytes, 1.0);
  EXPECT_DOUBLE_EQ(fp8.activation_bytes, 2.0);
  EXPECT_EQ(fp8.peak, a100.peak_bf16);
  const MatmulFormat int4 = matmul_format(model::DType::kInt4, fixtures::gpu("h100"));
  EXPECT_DOUBLE_EQ(int4.weight_bytes, 0.5);
  EXPECT_DOUBLE_EQ(int4.activation_bytes, 2.0);
  const MatmulFormat fp32 = matmul_format(model::DType::kFp32, a100);
  EXPECT_DOUBLE_EQ(fp32.weight_bytes, 4.0);
  EXPECT_DOUBLE_EQ(fp32.peak.value(), 156e12);
}

/// Where the GPU multiplies slowly beside its memory, tiles of 64 rows would bind one row.
TEST(Gemm, NarrowWeightsOfFewRowsWorkInTilesOfSixteen) {
  const GemmShape wide{.m = 1, .k = 3840, .n = 30720};
  const auto time = [&](std::int64_t rows) {
    hardware::GpuSpec gpu = fixtures::gpu("a100-80gb");
    gpu.peak_bf16 = core::FlopsPerSecond(71.2e12);
    gpu.mem_bandwidth = core::BytesPerSecond(936.2e9);
    return core::as_microseconds(
        price({.m = rows, .k = wide.k, .n = wide.n}, model::DType::kInt4, gpu).time);
  };
  const double weights = real(wide.k) * real(wide.n) / 2.0 / 936.2e3;  // us at the full bandwidth
  EXPECT_LT(time(1), 1.7 * weights);
  EXPECT_NEAR(time(16), time(1), 0.01 * time(1));
  EXPECT_GT(time(48), 1.5 * time(16));
  EXPECT_NEAR(time(64), time(49), 0.02 * time(64));
}

TEST(Gemm, Int8NeedsItsOwnUnits) {
  auto a100 = fixtures::gpu("a100-80gb");
  EXPECT_FALSE(matmul_format(model::DType::kInt8, a100).is_8bit);
  a100.peak_int8 = core::FlopsPerSecond(624e12);
  const MatmulFormat int8 = matmul_format(model::DType::kInt8, a100);
  EXPECT_TRUE(int8.is_8bit);
  EXPECT_DOUBLE_EQ(int8.activation_bytes, 1.0);
  EXPECT_DOUBLE_EQ(int8.peak.value(), 624e12);
}

TEST(Gemm, Fp32RunsInTilesOfOneMultiprocessorOnBlackwell) {
  GemmConstants constants;
  constants.bandwidth_efficiency = 1e6;  // no memory time to speak of
  constants.overlap_exponent = 64.0;
  const auto us = [&](const std::string& gpu, std::int64_t rows) {
    return core::as_microseconds(
        fp32_gemm({.m = rows, .k = 3072, .n = 256}, constants, fixtures::gpu(gpu)).time);
  };
  // A tile: 2 * 32 * 32 * 3,072 FLOPs at half of the 256 a clock of 1.965 GHz.
  constexpr double kTile = 2.0 * 32 * 32 * 3072 / (0.5 * 256 * 1.965e9) * 1e6;
  EXPECT_NEAR(us("b200", 32), kTile, 0.01);
  // 18 * 8 tiles have a multiprocessor each, of 148; 19 * 8 are more, and 37 * 8 are two for each.
  EXPECT_NEAR(us("b200", 576), kTile, 0.01);
  EXPECT_NEAR(us("b200", 592), kTile * 152.0 / 148.0, 0.01);
  EXPECT_NEAR(us("b200", 1184), 2.0 * kTile, 0.02);
  // Up to 8 rows, and elsewhere, by the FLOPs of all multiprocessors.
  EXPECT_LT(us("b200", 8), 0.02 * kTile);
  EXPECT_LT(us("h200", 32), 0.1 * kTile);
}

TEST(SoftMax, LiesBetweenMaximumAndSum) {
  const core::Seconds three(3.0);
  const core::Seconds four(4.0);
  EXPECT_DOUBLE_EQ(soft_max(three, four, 1.0).value(), 7.0);
  EXPECT_NEAR(soft_max(three, four, 2.0).value(), 5.0, 1e-15);  // Pythagoras
  EXPECT_NEAR(soft_max(four, three, 64.0).value(), 4.0, 1e-8);  // (3/4)^64 = 1.0e-8
  EXPECT_DOUBLE_EQ(soft_max(core::Seconds(0.0), four, 3.0).value(), 4.0);
  EXPECT_DOUBLE_EQ(soft_max(core::Seconds(0.0), core::Seconds(0.0), 3.0).value(), 0.0);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
