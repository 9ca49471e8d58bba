#include "latency/kernel/elementwise.hpp"

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/sampling.hpp"
#include "model/operators.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

TEST(Elementwise, CountsItsTraffic) {
  const model::LayerElementwise shape{.hidden = 1000, .ffn_width = 100, .qkv_width = 10};
  const auto gpu = fixtures::gpu("h100");
  const Cost cost = elementwise(shape, 7, first_constants().step, gpu);
  EXPECT_DOUBLE_EQ(cost.bytes.value(), 7.0 * (20.0 * 1000.0 + 6.0 * 100.0 + 4.0 * 10.0));
  // 1.25 times the traffic at 0.8 of the bandwidth
  EXPECT_DOUBLE_EQ(cost.time.value(), 1.25 * 7.0 * 20'640.0 / (0.8 * 3.35e12));
  EXPECT_EQ(cost.kind, domain::Bottleneck::kMemory);
}

TEST(Elementwise, QuantisingCostsTraffic) {
  const model::LayerElementwise shape{
      .hidden = 1000, .ffn_width = 100, .qkv_width = 10, .quantised_activations = true};
  const Cost cost = elementwise(shape, 1, first_constants().step, fixtures::gpu("h100"));
  EXPECT_DOUBLE_EQ(cost.bytes.value(), 20'640.0 + 6.0 * 1000.0 + 3.0 * 100.0);
}

TEST(Sampling, GreedyPassesOverTheLogits) {
  const Cost cost =
      sampling({.vocab = 128'256}, 32, first_constants().sampling, fixtures::gpu("h100"));
  // 14 bytes of 32*128,256 logits / 3.35e12
  EXPECT_NEAR(core::as_microseconds(cost.time), 17.1518, 1e-3);
  EXPECT_EQ(cost.kind, domain::Bottleneck::kMemory);
}

TEST(Sampling, TruncationSortsAndPenaltiesCount) {
  const auto& constants = first_constants().sampling;
  const auto h100 = fixtures::gpu("h100");
  const auto time = [&](bool truncates, bool penalises) {
    return core::as_microseconds(
        sampling(
            {.vocab = 100'000, .truncates = truncates, .penalises = penalises}, 10, constants, h100)
            .time);
  };
  // 1e6 logits: 161 + 191 us, and 199 us.
  EXPECT_NEAR(time(true, false) - time(false, false), 352.0, 1e-6);
  EXPECT_NEAR(time(true, true) - time(true, false), 199.0, 1e-6);
}

TEST(Sampling, SortsAtTheSpeedOfTheSms) {
  const auto& constants = first_constants().sampling;
  const auto h100 = fixtures::gpu("h100");
  auto half = h100;
  half.num_sms = 66;
  const SamplingShape shape{.vocab = 100'000, .truncates = true};
  const SamplingShape greedy{.vocab = 100'000};
  const auto sort = [&](const auto& gpu) {
    return sampling(shape, 10, constants, gpu).time - sampling(greedy, 10, constants, gpu).time;
  };
  EXPECT_NEAR(sort(half) / sort(h100), 2.0, 1e-12);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
