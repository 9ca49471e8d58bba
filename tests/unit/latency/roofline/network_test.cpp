#include "latency/roofline/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/latency/kernel_fixtures.hpp"
#include "unit/latency/roofline/roofline_fixtures.hpp"

namespace ridgeline::latency::roofline {
namespace {

TEST(NetworkFacts, CountWeightsAndKv) {
  const auto network = network_of(fixtures::llama_31_8b(), "v1");
  ASSERT_TRUE(network);
  // 218,103,808 parameters a layer without norms: 4096 x (4096 + 2 x 1024 + 4096 + 3 x 14336).
  EXPECT_DOUBLE_EQ(network->weight_bytes().value(), 218'103'808.0 * 32 * 2);
  EXPECT_DOUBLE_EQ(network->kv_bytes_per_token(), 2.0 * 32 * 1024 * 2);
}

TEST(NetworkFacts, DynamicBytesHaveFactorsByNewTokens) {
  const auto network = network_of(fixtures::llama_31_8b(), "v1");
  ASSERT_TRUE(network);
  const double kv = 131'072.0;           // per token
  const double activations = 262'144.0;  // 32 layers x 4096 x 2
  EXPECT_DOUBLE_EQ(dynamic_bytes(*network, 100, 1, true, ByteFactors()),
                   0.80 * 100 * kv + kv + 0.75 * activations);
  EXPECT_DOUBLE_EQ(dynamic_bytes(*network, 100, 7, false, ByteFactors()),
                   0.92 * 100 * kv + 7 * kv + 0.85 * 7 * activations);
  EXPECT_DOUBLE_EQ(dynamic_bytes(*network, 100, 7, false, ByteFactors::none()),
                   100 * kv + 7 * kv + 7 * activations);
}

TEST(NetworkFacts, TakeHiddenOverHeadsAndSaySoWhereTheNetworkDiffers) {
  const auto nemo = latency::fixtures::mistral_nemo_12b();
  const auto network = network_of(nemo, "v2-final");
  ASSERT_TRUE(network);
  EXPECT_DOUBLE_EQ(network->head_dim, 160.0);  // 5120 / 32; the network has 128
  const auto notes = network_notes(nemo, *network);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes.front().message, testing::HasSubstr("= 160"));
  const auto llama = fixtures::llama_31_8b();
  EXPECT_TRUE(network_notes(llama, *network_of(llama, "v1")).empty());
}

TEST(NetworkFacts, RefuseLayersOfSeveralShapes) {
  auto spec = fixtures::llama_31_8b();
  spec.layers.push_back(spec.layers.front());
  EXPECT_FALSE(network_of(spec, "v1"));
}

}  // namespace
}  // namespace ridgeline::latency::roofline
