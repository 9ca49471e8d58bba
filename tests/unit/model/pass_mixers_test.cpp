#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

const Operator& op_named(const std::vector<Operator>& pass, std::string_view name) {
  for (const Operator& op : pass) {
    if (op.name == name) {
      return op;
    }
  }
  ADD_FAILURE() << "no " << name;
  return pass.front();
}

ModelSpec with_experts() {
  ModelSpec spec;
  spec.hidden_size = 64;
  spec.vocab_size = 10;
  spec.layers = {{.count = 2,
                  .attention = {.heads = 8, .kv_heads = 8, .head_dim = 8},
                  .ffn = MoeFfn{.experts = 16, .experts_per_token = 4, .expert_width = 32}}};
  return spec;
}

TEST(PassMixers, ALatentIsHeldByEveryRank) {
  ModelSpec spec = with_experts();
  spec.layers[0].attention.latent =
      LatentSpec{.query_rank = 12, .kv_rank = 16, .rope_dim = 4, .nope_dim = 8, .value_dim = 6};
  const auto pass = forward_pass(spec, {.tensor_parallel_size = 4});
  EXPECT_EQ(op_named(pass, "qkv_a_proj").shape, Shape(Gemm{.k = 64, .n = 12 + 20}));
  EXPECT_EQ(op_named(pass, "q_b_proj").shape, Shape(Gemm{.k = 12, .n = 2 * 12}));
  EXPECT_EQ(op_named(pass, "kv_b_proj").shape, Shape(Gemm{.k = 16, .n = 2 * 14}));
  EXPECT_EQ(op_named(pass, "o_proj").shape, Shape(Gemm{.k = 2 * 6, .n = 64}));
  EXPECT_EQ(kv_bytes_per_token(op_named(pass, "attention")).value(), 2.0 * 20 * 2);
}

TEST(PassMixers, Mamba2CopiesItsGroups) {
  ModelSpec spec = with_experts();
  spec.layers[0].attention = {};
  spec.layers[0].recurrent = RecurrentSpec{.kind = RecurrentSpec::Kind::kMamba2,
                                           .heads = 8,
                                           .key_heads = 2,
                                           .key_dim = 16,
                                           .value_dim = 4,
                                           .conv_kernel = 4};
  const auto pass = forward_pass(spec, {.tensor_parallel_size = 4});
  // Two heads of 4 and a group of 16 for B and C: 8 + 32 channels, the gate's 8, a rate per head.
  EXPECT_EQ(op_named(pass, "in_proj").shape, Shape(Gemm{.k = 64, .n = 40 + 8 + 2}));
  EXPECT_EQ(std::get<Recurrence>(op_named(pass, "recurrence").shape).conv_channels, 40);
}

TEST(PassMixers, ExpertsAreHandedOutWholeOrByWidth) {
  const ModelSpec spec = with_experts();
  const auto by_width = forward_pass(spec, {.tensor_parallel_size = 2, .data_parallel_size = 4});
  const auto& narrow = std::get<ExpertGemm>(op_named(by_width, "experts").shape);
  EXPECT_EQ(narrow.experts_on_rank, 16);
  EXPECT_EQ(narrow.width, 4);  // 32 over 8 ranks
  EXPECT_EQ(narrow.token_sources, 4);
  const auto whole = forward_pass(
      spec, {.tensor_parallel_size = 2, .data_parallel_size = 4, .expert_parallel = true});
  const auto& few = std::get<ExpertGemm>(op_named(whole, "experts").shape);
  EXPECT_EQ(few.experts_on_rank, 2);
  EXPECT_EQ(few.width, 32);
  EXPECT_EQ(std::get<AllToAll>(op_named(whole, "dispatch").shape).ranks, 4);
}

TEST(PassMixers, CopiesOfATokenThatLeaveItsRank) {
  AllToAll shape{.width = 7168, .ranks = 8, .experts = 256, .experts_per_token = 8};
  EXPECT_EQ(shape.copies(), 7);
  shape.backend = AllToAllBackend::kDeepEpLowLatency;
  EXPECT_EQ(shape.copies(), 7);  // of 8 choices one in eight stays
  shape.backend = AllToAllBackend::kDeepEpHighThroughput;
  // A rank of 32 experts is missed with probability prod (224 - i) / (256 - i), i < 8, = 0.33916.
  double missed = 1;
  for (int i = 0; i < 8; ++i) {
    missed *= (224.0 - i) / (256.0 - i);
  }
  EXPECT_NEAR(shape.copies(), 7 * (1 - missed), 1e-12);
  EXPECT_NEAR(missed, 0.339, 0.001);
}

TEST(PassMixers, CombinationsAreRefusedByName) {
  const auto refusal = [](const ModelSpec& spec, const Sharding& sharding) {
    const auto result = check_sharding(spec, sharding);
    return result ? std::string("accepted")
                  : result.error().front().field + ": " + result.error().front().message;
  };
  ModelSpec dense = with_experts();
  dense.layers[0].ffn = DenseFfn{.width = 32};
  EXPECT_EQ(refusal(dense, {.data_parallel_size = 2}), "accepted");  // copies that share nothing
  EXPECT_EQ(refusal(dense, {.expert_parallel = true}),
            "engine.enable_expert_parallel: the network has no experts");
  EXPECT_EQ(refusal(dense, {.pipeline_parallel_size = 3}),
            "engine.pipeline_parallel_size: 3 stages for 2 layers");
  const ModelSpec moe = with_experts();
  EXPECT_EQ(refusal(moe, {.data_parallel_size = 32, .expert_parallel = true}),
            "engine.enable_expert_parallel: 32 ranks for 16 experts");
  EXPECT_EQ(refusal(moe, {.all_to_all = AllToAllBackend::kDeepEpLowLatency}),
            "engine.all2all_backend: deepep_low_latency needs enable_expert_parallel and "
            "data_parallel_size above 1");
  EXPECT_EQ(
      refusal(moe, {.data_parallel_size = 2, .prefill_context_parallel_size = 2}),
      "engine.prefill_context_parallel_size: 2 with data_parallel_size above 1 is not modelled "
      "yet");
  EXPECT_EQ(refusal(moe, {.data_parallel_size = 2, .expert_parallel = true}), "accepted");
  EXPECT_EQ(
      refusal(dense, {.tensor_parallel_size = 2, .decode_context_parallel_size = 2}),
      "engine.decode_context_parallel_size: 2 is more than the ranks that hold one KV head: 1 of "
      "tensor_parallel_size 2");
  EXPECT_EQ(refusal(dense, {.decode_context_parallel_size = 2}),
            "engine.decode_context_parallel_size: 2 does not divide tensor_parallel_size 1, whose "
            "ranks hold the cache");
}

}  // namespace
}  // namespace ridgeline::model
