#include "latency/kernel/all_reduce.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

double microseconds(double bytes, std::int64_t ranks, const char* gpu_name = "h100") {
  const auto gpu = fixtures::gpu(gpu_name);
  const Calibration calibration = calibrate(first_constants(), gpu);
  return core::as_microseconds(
      all_reduce(
          core::Bytes(bytes), ranks, calibration.all_reduce.values, calibration.exchange, gpu)
          .time);
}

constexpr double kKib = 1024.0;
constexpr double kMib = 1024.0 * kKib;

TEST(AllReduce, SmallMessagesAreOneShot) {
  // 4.35 + 10,240 / (0.571*450e3) us
  EXPECT_NEAR(microseconds(10'240.0, 2), 4.3899, 1e-3);
  // 4.35 + 2*0.053 + 3*524,288 / 256.95e3
  EXPECT_NEAR(microseconds(512.0 * kKib, 4), 10.5773, 1e-3);
  // 4.35 + 6*0.053 + 7*262,144 / 256.95e3
  EXPECT_NEAR(microseconds(256.0 * kKib, 8), 11.8095, 1e-3);
}

TEST(AllReduce, LargerOnesAreTwoShot) {
  // Both start at their floors, 9 + 0.75*n.
  EXPECT_DOUBLE_EQ(microseconds(512.0 * kKib + 2.0, 4), 12.0);
  EXPECT_DOUBLE_EQ(microseconds(256.0 * kKib + 2.0, 8), 15.0);
  // 6.9 + 2*3/4 * 4 MiB / (0.591*450e3 bytes/us) = 6.9 + 23.6567
  EXPECT_NEAR(microseconds(4.0 * kMib, 4), 30.5567, 1e-3);
}

/// The logits of 64 sequences over half of a vocabulary of 131,072 are 8 MiB to the byte: no longer
/// custom.
TEST(AllReduce, NcclTakesOverAtEightMebibytes) {
  EXPECT_NEAR(microseconds(8.0 * kMib - 2.0, 2), 36.9968, 1e-3);  // 4.35 + 8,388,606/256.95e3
  EXPECT_NEAR(microseconds(8.0 * kMib, 2), 54.0604, 1e-3);        // 29.5 + 8,388,608/341.55e3
  EXPECT_NEAR(microseconds(8.0 * kMib, 4), 66.3406, 1e-3);        // 29.5 + 1.5*8,388,608/341.55e3
}

TEST(AllReduce, TheWayFollowsSizeAndRanks) {
  const auto way = [](double bytes, std::int64_t ranks) {
    return all_reduce_way(core::Bytes(bytes), ranks, builtin_constants().exchange);
  };
  EXPECT_EQ(way(8.0 * kMib - 2.0, 2), AllReduceWay::kOneShot);
  EXPECT_EQ(way(512.0 * kKib - 2.0, 4), AllReduceWay::kOneShot);
  EXPECT_EQ(way(512.0 * kKib, 4), AllReduceWay::kTwoShot);
  EXPECT_EQ(way(256.0 * kKib - 2.0, 8), AllReduceWay::kOneShot);
  EXPECT_EQ(way(256.0 * kKib, 8), AllReduceWay::kTwoShot);
  EXPECT_EQ(way(8.0 * kMib - 2.0, 4), AllReduceWay::kTwoShot);
  EXPECT_EQ(way(8.0 * kMib, 2), AllReduceWay::kNccl);
}

/// The constants in use, with round numbers.
AllReduceConstants round_constants() {
  AllReduceConstants constants;
  constants.two_shot = core::microseconds(9.0);
  constants.two_shot_rank = core::microseconds(1.0);
  constants.two_shot_efficiency = 0.7;
  constants.nccl = core::microseconds(20.0);
  constants.nccl_efficiency = 0.5;
  constants.nccl_large =
      LargeMessages{.start = core::microseconds(60.0), .efficiency = 0.8, .memory_passes = 2.0};
  return constants;
}

double with_round_constants(double bytes,
                            std::int64_t ranks,
                            const AllReduceConstants& constants,
                            const char* gpu = "h100") {
  return core::as_microseconds(
      all_reduce(
          core::Bytes(bytes), ranks, constants, builtin_constants().exchange, fixtures::gpu(gpu))
          .time);
}

TEST(AllReduce, TwoShotMovesTheMessageTwiceBesideItsWaiting) {
  // Waiting: 9 + 2 * 1 us; moving: 2 * 4 MiB / (0.7 * 450e3 bytes/us) = 26.6305; joined with an
  // exponent of 1.5: (36.4829 + 137.4258)^(2/3).
  EXPECT_NEAR(with_round_constants(4.0 * kMib, 4, round_constants()), 31.156, 0.001);
  // vLLM takes one shot below 512 KiB, not at it: 2 * 512 KiB are 3.3288 us.
  EXPECT_NEAR(with_round_constants(512.0 * kKib, 4, round_constants()), 12.189, 0.001);
}

TEST(AllReduce, NcclTakesTheFasterOfItsWays) {
  AllReduceConstants constants = round_constants();
  // 16 MiB over two ranks: 20 + 74.565; the other way takes 60 + 46.603 + 10.016.
  EXPECT_NEAR(with_round_constants(16.0 * kMib, 2, constants), 94.565, 0.001);
  // 64 MiB: 60 + 186.414 + 2 * 64 MiB / 3.35e6 bytes/us, 40.065; the other 20 + 298.262.
  EXPECT_NEAR(with_round_constants(64.0 * kMib, 2, constants), 286.479, 0.001);
  // The switch adds up above four ranks, from Hopper on: 1.75 * 64 MiB at 0.8 * 1.25 of 450e3,
  // 260.979; on an A100 at 0.8 of 300e3, 489.336, and two passes at 2.039e6, 65.825.
  constants.nccl_switch_gain = 1.25;
  EXPECT_NEAR(with_round_constants(64.0 * kMib, 8, constants), 60.0 + 260.979 + 40.065, 0.001);
  EXPECT_NEAR(
      with_round_constants(64.0 * kMib, 8, constants, "a100-80gb"), 60.0 + 489.336 + 65.825, 0.001);
}

/// Eight ranks of Hopper: vLLM's own kernels end at 256 KiB, symmetric memory at 64 MiB. Four: at
/// 32 MiB both, but no more than 8 MiB for its own.
TEST(AllReduce, SymmetricMemoryTakesOverAtItsLimits) {
  const AllReduceConstants constants = round_constants();
  const auto gpu = fixtures::gpu("h100");
  const auto with = [&](double bytes, std::int64_t ranks) {
    return core::as_microseconds(
        symm_mem_all_reduce(core::Bytes(bytes), ranks, constants, builtin_constants().exchange, gpu)
            .time);
  };
  const auto without = [&](double bytes, std::int64_t ranks) {
    return with_round_constants(bytes, ranks, constants);
  };
  EXPECT_EQ(with(128.0 * kKib, 8), without(128.0 * kKib, 8));
  EXPECT_EQ(with(4.0 * kMib, 4), without(4.0 * kMib, 4));
  // Two shots at 8 MiB: 9 + 6 us of waiting and 2 * 8 MiB / (0.7 * 450e3 bytes/us) = 53.261 of
  // moving, (15^1.5 + 53.261^1.5)^(2/3) = 58.472. NCCL: 20 + 1.75 * 8 MiB / (0.5 * 450e3) = 85.2.
  EXPECT_NEAR(with(8.0 * kMib, 8), 58.472, 0.05);
  EXPECT_NEAR(without(8.0 * kMib, 8), 85.2, 0.1);
  // Beyond the limit it is NCCL's turn; 16 ranks have none.
  EXPECT_EQ(with(64.0 * kMib, 8), without(64.0 * kMib, 8));
  EXPECT_LT(with(16.0 * kMib, 4), without(16.0 * kMib, 4));
  EXPECT_EQ(with(32.0 * kMib, 4), without(32.0 * kMib, 4));
  EXPECT_FALSE(symm_mem_limits(16, gpu).has_value());
  EXPECT_FALSE(symm_mem_limits(8, fixtures::gpu("a100-80gb")).has_value());
  EXPECT_EQ(symm_mem_limits(8, fixtures::gpu("b200"))->symm_mem.value(), 128.0 * kMib);
}

TEST(AllReduce, TimesMayBeClocks) {
  AllReduceConstants constants = round_constants();
  constants.clock_ghz = 2.82;  // twice the A100's
  // 2 * 20 + 8 MiB / 150e3
  EXPECT_NEAR(with_round_constants(8.0 * kMib, 2, constants, "a100-80gb"), 40.0 + 55.924, 0.001);
}

TEST(AllReduce, ADatasheetAloneGivesARing) {
  hardware::GpuSpec gpu = fixtures::gpu("h100");
  gpu.datasheet_only = true;
  const auto us = [&](double bytes) {
    return core::as_microseconds(
        all_reduce(core::Bytes(bytes), 8, round_constants(), builtin_constants().exchange, gpu)
            .time);
  };
  // 2 * 7/8 of the message at 450e3 bytes/us, on both sides of 256 KiB.
  EXPECT_NEAR(us(256.0 * kKib - 2.0), 1.01944, 1e-4);
  EXPECT_NEAR(us(256.0 * kKib), 1.01945, 1e-4);
}

TEST(AllReduce, PcieIsFarSlower) {
  // Two L40S: 5.3 + 1 MiB / (0.60*32e3) = 5.3 + 54.613
  EXPECT_NEAR(microseconds(kMib, 2, "l40s"), 59.913, 1e-2);
  // Four: 5.3 + 2*3.5 + 1.5 MiB / (0.115*32e3) = 12.3 + 427.4
  EXPECT_NEAR(microseconds(kMib, 4, "l40s"), 439.70, 0.05);
  // Eight: 5.3 + 6*3.5 + 1.75 MiB / (0.058*32e3) = 26.3 + 988.7
  EXPECT_NEAR(microseconds(kMib, 8, "l40s"), 1015.0, 0.2);
}

TEST(AllReduce, IsNetwork) {
  const auto gpu = fixtures::gpu("h100");
  const Calibration calibration = calibrate(first_constants(), gpu);
  const Cost cost =
      all_reduce(core::Bytes(1000.0), 2, calibration.all_reduce.values, calibration.exchange, gpu);
  EXPECT_EQ(cost.kind, domain::Bottleneck::kNetwork);
  EXPECT_DOUBLE_EQ(cost.bytes.value(), 1000.0);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
