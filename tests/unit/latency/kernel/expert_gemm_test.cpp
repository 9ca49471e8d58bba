#include "latency/kernel/expert_gemm.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/math.hpp"
#include "core/rng.hpp"
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

model::ExpertGemm scout_half() {
  return {.experts = 16,
          .experts_on_rank = 16,
          .experts_per_token = 1,
          .hidden = 5120,
          .width = 4096,
          .weights = model::DType::kFp8};
}

TEST(ExpertGemm, ExpectedExpertsOfUniformRouting) {
  const model::ExpertGemm shape = scout_half();
  EXPECT_DOUBLE_EQ(expected_experts(shape, 1), 1.0);
  // 16 * (1 - (15/16)^2) = 16 - 225/16
  EXPECT_NEAR(expected_experts(shape, 2), 1.9375, 1e-12);
  EXPECT_NEAR(expected_experts(shape, 1'000'000), 16.0, 1e-12);
}

model::ExpertGemm many_experts() {
  return {.experts = 256,
          .experts_on_rank = 256,
          .experts_per_token = 8,
          .hidden = 3072,
          .width = 1536,
          .weights = model::DType::kFp8};
}

TEST(ExpertGemm, FewerExpertsAreHitWhereSomeAreMorePopular) {
  const model::ExpertGemm shape = many_experts();
  // All alike: 256 * (1 - (31/32)^32).
  EXPECT_NEAR(expected_experts(shape, 32), 163.314, 1e-3);
  EXPECT_NEAR(expected_experts(shape, 32, {.popularity_shape = 1e6}), 163.314, 1e-3);
  // 256 * (1 - (1 + 32 * ln(32/31) / 0.5)^-0.5)
  EXPECT_NEAR(expected_experts(shape, 32, {.popularity_shape = 0.5}), 108.978, 1e-3);
  EXPECT_LT(expected_experts(shape, 1'000'000, {.popularity_shape = 0.5}), 256.0);
}

/// Experts with a token where the rule of power_law_logits_v3 is drawn.
double drawn_hits(const model::ExpertGemm& shape, std::int64_t tokens, core::RngStream& draws) {
  constexpr double kPower = 1.0 - 1.01;
  const std::int64_t pairs = tokens * shape.experts_per_token;
  const bool many = pairs > shape.experts;
  const double low = core::pow(many ? 1.0 : 0.01, kPower);
  const double high = core::pow(many ? 0.8 * static_cast<double>(tokens) : 2.0, kPower);
  std::vector<double> weights(static_cast<std::size_t>(shape.experts));
  for (double& weight : weights) {
    weight = core::pow((high - low) * draws.uniform() + low, 1.0 / kPower);
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> counts;
  for (const double weight : weights) {
    counts.push_back(std::llround(weight / sum * static_cast<double>(pairs)));
  }
  std::ranges::sort(counts, std::greater());
  std::int64_t left = pairs - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  for (std::size_t i = 0; left > 0; i = (i + 1) % counts.size(), --left) {
    ++counts[i];
  }
  return static_cast<double>(
      std::ranges::count_if(counts, [](std::int64_t count) { return count > 0; }));
}

TEST(ExpertGemm, PublishedTablesHitTheExpertsThatTheirRuleDraws) {
  constexpr int kDraws = 100;
  core::RngStream draws(1, 0, "published tables");
  for (const std::int64_t experts : {32, 128, 384}) {
    model::ExpertGemm shape = many_experts();
    shape.experts = shape.experts_on_rank = experts;
    for (const std::int64_t tokens : {1, 4, 16, 64, 256, 4096}) {
      double sum = 0.0;
      for (int i = 0; i < kDraws; ++i) {
        sum += drawn_hits(shape, tokens, draws);
      }
      EXPECT_NEAR(
          expected_experts(shape, tokens, {.is_published_table = true}) / (sum / kDraws), 1.0, 0.1)
          << tokens << " tokens, " << experts << " experts";
    }
  }
}

TEST(ExpertGemm, AKnownNumberOfExpertsHitStands) {
  EXPECT_EQ(expected_experts(many_experts(), 16, {.is_published_table = true, .experts_hit = 73.0}),
            73.0);
}

TEST(ExpertGemm, EveryTokenMayUseEveryExpert) {
  model::ExpertGemm shape = scout_half();
  shape.experts_per_token = 16;
  EXPECT_DOUBLE_EQ(expected_experts(shape, 1), 16.0);
}

TEST(ExpertGemm, ExpertsOfOtherRanksCostNothing) {
  model::ExpertGemm shape = scout_half();
  shape.experts_on_rank = 4;
  // A quarter of the experts, and of the pairs but for the spread of a million.
  EXPECT_NEAR(expected_experts(shape, 1'000'000), 4.0, 1e-12);
  EXPECT_NEAR(pairs_on_rank(shape, 1'000'000), 250'000.0, 1'000.0);
}

TEST(ExpertGemm, AStepWaitsForTheBusiestRank) {
  model::ExpertGemm shape = scout_half();
  shape.experts_on_rank = 8;
  // One token: the busiest rank has it, and reads its expert.
  EXPECT_DOUBLE_EQ(pairs_on_rank(shape, 1), 1.0);
  // 100 tokens over two ranks: 50 + sqrt(100 / (2 * pi)) = 53.99 on the busier one (half of the
  // mean absolute deviation of a binomial count).
  EXPECT_NEAR(pairs_on_rank(shape, 100), 53.99, 0.01);
  // 8 * (1 - (15/16)^107.98)
  EXPECT_NEAR(expected_experts(shape, 100), 7.9925, 1e-4);
  // Four ranks: 25 + 1.0294 * sqrt(4/3) * sqrt(100 * 1/4 * 3/4) = 30.147.
  shape.experts_on_rank = 4;
  EXPECT_NEAR(pairs_on_rank(shape, 100), 30.147, 0.001);
  // No experts to share out, no imbalance.
  shape.experts_on_rank = 16;
  EXPECT_DOUBLE_EQ(busiest_share(shape, 1), 1.0);
}

TEST(ExpertGemm, PopularExpertsKeepARankBusyHoweverManyTheTokens) {
  model::ExpertGemm shape = scout_half();
  shape.experts_on_rank = 8;
  const ExpertChoice random{.popularity_shape = 0.5};
  // Eight experts of a popularity whose variance is 2 deviate by sqrt(2 / 8) on a rank: two ranks,
  // 1 + 0.5642 * sqrt(2) * sqrt(1/4 * 1/2).
  EXPECT_NEAR(busiest_share(shape, 1'000'000, random), 1.2821, 1e-3);
  EXPECT_NEAR(busiest_share(shape, 1'000'000), 1.0, 1e-3);
  EXPECT_NEAR(pairs_on_rank(shape, 1'000'000, random), 641'050.0, 500.0);
  // Less of it with more experts on each, and none where each rank has a part of all.
  model::ExpertGemm many = shape;
  many.experts = 256;
  many.experts_on_rank = 128;
  EXPECT_NEAR(busiest_share(many, 1'000'000, random), 1.0706, 1e-3);
  shape.experts_on_rank = 16;
  EXPECT_DOUBLE_EQ(busiest_share(shape, 1'000'000, random), 1.0);
}

TEST(ExpertGemm, StreamsTheExpertsHit) {
  const auto gpu = fixtures::gpu("h100");
  const Calibration calibration = calibrate(first_constants(), gpu);
  const MatmulFormat format = matmul_format(model::DType::kFp8, gpu);
  const Cost cost = expert_gemm(scout_half(),
                                32,
                                format,
                                calibration.experts(model::DType::kFp8, format, 16).values,
                                {.streamed_fraction = 0.92},
                                gpu);
  // Experts: 16*(1 - (15/16)^32) = 13.97138, times 0.92 = 12.85367 streamed.
  // Memory: 12.85367*3*5120*4096 bytes / (0.973*3.35e12) = 248.097 us; compute: 6*5120*4096*32 /
  // 1979e12 = 2.03 us, nothing at exponent 12. Plus 29.7, 2.0 us an expert = 25.707, and 3.96 *
  // 32*6*(5120+4096) bytes / 3.35e12 = 2.092 us.
  EXPECT_NEAR(core::as_microseconds(cost.time), 305.596, 2e-3);
  EXPECT_EQ(cost.kind, domain::Bottleneck::kMemory);
  EXPECT_DOUBLE_EQ(cost.flops.value(), 6.0 * 5120.0 * 4096.0 * 32.0);
}

TEST(ExpertGemm, FewTokensTakeSmallTiles) {
  const auto gpu = fixtures::gpu("h100");
  model::ExpertGemm shape{.experts = 64,
                          .experts_on_rank = 64,
                          .experts_per_token = 64,
                          .hidden = 1024,
                          .width = 512,
                          .weights = model::DType::kBf16};
  ExpertConstants constants;
  constants.bandwidth_efficiency = 1e6;
  constants.compute_efficiency = 0.5;
  constants.tile_rows = 60.0;
  constants.few_tokens = FewTokenTiles{.compute_efficiency = 0.25, .tile_rows = 8.0};
  const auto us = [&](std::int64_t tokens) {
    const MatmulFormat format = matmul_format(shape.weights, gpu);
    return core::as_microseconds(expert_gemm(shape, tokens, format, constants, {}, gpu).time);
  };
  // Every token is at every expert: 64 tokens make 64 * 64 pairs, and each of 64 experts wastes 8
  // rows: (4,096 + 512) * 6 * 1024 * 512 FLOPs at a quarter of 989e12.
  EXPECT_NEAR(us(64), 58.627, 0.001);
  // One token more: (4,160 + 3,840) rows at a half.
  EXPECT_NEAR(us(65), 50.891, 0.001);
  // Tokens of other ranks count: two of 33 each.
  shape.token_sources = 2;
  EXPECT_NEAR(us(33), 51.299, 0.001);
}

TEST(ExpertGemm, FewExpertsAreCoarse) {
  const Calibration calibration = calibrate(first_constants(), fixtures::gpu("h100"));
  const auto set = [&](model::DType weights, std::int64_t experts) {
    return &calibration.experts(weights, matmul_format(weights, fixtures::gpu("h100")), experts);
  };
  EXPECT_EQ(set(model::DType::kBf16, 8), &calibration.experts_16bit_coarse);
  EXPECT_EQ(set(model::DType::kFp8, 16), &calibration.experts_8bit_coarse);
  EXPECT_EQ(set(model::DType::kBf16, 64), &calibration.experts_16bit_fine);
  EXPECT_EQ(set(model::DType::kFp8, 128), &calibration.experts_8bit_fine);
  // The first constants know no others.
  EXPECT_EQ(set(model::DType::kInt4, 64), &calibration.experts_16bit_fine);
}

TEST(ExpertGemm, NarrowWeightsHaveKernelsOfTheirOwn) {
  const auto set = [](const Calibration& calibration, const char* gpu, model::DType weights) {
    return &calibration.experts(weights, matmul_format(weights, fixtures::gpu(gpu)), 8);
  };
  const Calibration h100 = calibrate(builtin_constants(), fixtures::gpu("h100"));
  EXPECT_EQ(set(h100, "h100", model::DType::kInt4), &*h100.experts_weight_only);
  EXPECT_EQ(set(h100, "h100", model::DType::kMxfp4), &*h100.experts_mxfp4);
  EXPECT_EQ(set(h100, "h100", model::DType::kBf16), &h100.experts_16bit_coarse);
  // Without units for FP8 its weights are the narrow ones, and MXFP4 runs in the same kernel.
  const Calibration a100 = calibrate(builtin_constants(), fixtures::gpu("a100-80gb"));
  EXPECT_EQ(set(a100, "a100-80gb", model::DType::kFp8), &*a100.experts_weight_only);
  EXPECT_EQ(set(a100, "a100-80gb", model::DType::kMxfp4), &*a100.experts_weight_only);
}

TEST(ExpertGemm, MultiprocessorsBoundWhatIsUnpacked) {
  // 132 * 25e9 = 3.3e12 bytes a second bound an H200 (4.8e12), not an L40S (0.864e12).
  ExpertConstants constants;
  constants.pair_traffic_factor = 2.0;
  constants.compute_efficiency = 1e6;  // no computing to speak of
  constants.multiprocessor = core::BytesPerSecond(25e9);
  const model::ExpertGemm shape{.experts = 64,
                                .experts_on_rank = 64,
                                .experts_per_token = 64,
                                .hidden = 1024,
                                .width = 512,
                                .weights = model::DType::kInt4};
  const auto us = [&](const hardware::GpuSpec& gpu) {
    const MatmulFormat format = matmul_format(shape.weights, gpu);
    return core::as_microseconds(expert_gemm(shape, 100, format, constants, {}, gpu).time);
  };
  const auto h200 = fixtures::gpu("h200");
  const auto l40s = fixtures::gpu("l40s");
  const double weights =
      64.0 * 3.0 * 1024.0 * 512.0 * matmul_format(shape.weights, h200).weight_bytes;
  // 6,400 pairs of 6 * (1,024 + 512) bytes: twice through the multiprocessors or once through
  // memory.
  const double pairs = 6400.0 * 9216.0;
  EXPECT_NEAR(us(h200), (weights + 2.0 * pairs) / 3.3e6, 1e-3);
  EXPECT_NEAR(us(l40s), (weights + pairs) / 0.864e6, 1e-3);
}

TEST(ExpertGemm, InstructionsOfAWarpReachNoMoreThanTheyGive) {
  ExpertConstants constants;
  constants.bandwidth_efficiency = 1e6;  // no memory time to speak of
  constants.warp_macs = 1024.0;
  const model::ExpertGemm shape{.experts = 1,
                                .experts_on_rank = 1,
                                .experts_per_token = 1,
                                .hidden = 2048,
                                .width = 1024,
                                .weights = model::DType::kInt4};
  const auto tflops = [&](const std::string& name) {
    const auto gpu = fixtures::gpu(name);
    const Cost cost =
        expert_gemm(shape, 1'000'000, matmul_format(shape.weights, gpu), constants, {}, gpu);
    return cost.flops.value() / cost.time.value() / 1e12;
  };
  // 132 multiprocessors * 1.755e9 clocks * 2,048 FLOPs on an H100, less than its 989e12.
  EXPECT_NEAR(tflops("h100"), 474.4, 0.1);
  // An L40S has half as many tensor cores: its datasheet's 362e12 are less.
  EXPECT_NEAR(tflops("l40s"), 362.0, 0.1);
}

TEST(ExpertGemm, KernelsPadMxfp4) {
  ExpertConstants constants;
  constants.compute_efficiency = 0.5;
  const auto us = [&](bool is_marlin,
                      std::int64_t hidden,
                      std::int64_t width,
                      const std::string& gpu_name = "h100") {
    const auto gpu = fixtures::gpu(gpu_name);
    constants.warp_macs = is_marlin ? std::optional(1024.0) : std::nullopt;
    const model::ExpertGemm shape{.experts = 32,
                                  .experts_on_rank = 32,
                                  .experts_per_token = 4,
                                  .hidden = hidden,
                                  .width = width,
                                  .weights = model::DType::kMxfp4};
    const MatmulFormat format = matmul_format(shape.weights, gpu);
    return core::as_microseconds(expert_gemm(shape, 64, format, constants, {}, gpu).time);
  };
  // gpt-oss: 2,880 of hidden size become 3,072 and 720 of width 768 where Marlin runs, whose sets
  // state warp_macs.
  EXPECT_NEAR(us(true, 2880, 720), us(true, 3072, 768), 1e-6);
  EXPECT_LT(us(false, 2880, 720), 0.9 * us(false, 3072, 768));
  // FlashInfer's on Blackwell: 360 of width, on eight ranks, become 512.
  EXPECT_NEAR(us(false, 2880, 360, "b200"), us(false, 3072, 512, "b200"), 1e-6);
}

TEST(ExpertGemm, ATileFitsTheRowsOfAnExpert) {
  const auto gpu = fixtures::gpu("h100");
  ExpertConstants constants;
  constants.compute_efficiency = 0.5;
  constants.tile_share = 0.5;
  const model::ExpertGemm shape{.experts = 64,
                                .experts_on_rank = 64,
                                .experts_per_token = 1,
                                .hidden = 1024,
                                .width = 512,
                                .weights = model::DType::kInt4};
  const MatmulFormat format = matmul_format(shape.weights, gpu);
  const auto compute_us = [&](std::int64_t tokens) {
    constants.bandwidth_efficiency = 1e6;  // no memory time to speak of
    return core::as_microseconds(expert_gemm(shape, tokens, format, constants, {}, gpu).time);
  };
  // 1,024 tokens: 16 rows per expert, 16 / 0.9 of a tile of 32 rows, half of which is waste for
  // each of 64 experts: (1,024 + 1,024) * 6 * 1024 * 512 FLOPs at half of 989e12.
  EXPECT_NEAR(compute_us(1024), 13.028, 0.002);
  // 8,192 tokens: 128 rows, tiles of 64: (8,192 + 2,048) rows.
  EXPECT_NEAR(compute_us(8192), 65.141, 0.002);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
