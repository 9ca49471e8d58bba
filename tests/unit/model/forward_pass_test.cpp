#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

/// A small dense network: 6 heads of 4 over 2 KV heads, 3 layers.
ModelSpec dense() {
  ModelSpec spec;
  spec.name = "small";
  spec.hidden_size = 20;
  spec.vocab_size = 101;
  spec.layers = {{.count = 3,
                  .attention = {.heads = 6, .kv_heads = 2, .head_dim = 4},
                  .ffn = DenseFfn{.width = 36}}};
  return spec;
}

/// Dense and mixture layers by turns, with a shared expert.
ModelSpec alternating() {
  ModelSpec spec = dense();
  const AttentionSpec attention = spec.layers.front().attention;
  const LayerGroup plain{.count = 1, .attention = attention, .ffn = DenseFfn{.width = 36}};
  const LayerGroup mixture{
      .count = 1,
      .attention = attention,
      .ffn = MoeFfn{.experts = 8, .experts_per_token = 2, .expert_width = 12, .shared_width = 24}};
  spec.layers = {plain, mixture, plain, mixture};
  return spec;
}

std::vector<std::string> names(const std::vector<Operator>& pass) {
  std::vector<std::string> all;
  for (const Operator& op : pass) {
    all.push_back(op.name);
  }
  return all;
}

/// The one operator of that name.
const Operator& only(const std::vector<Operator>& pass, std::string_view name) {
  const Operator* found = nullptr;
  for (const Operator& op : pass) {
    if (op.name == name) {
      EXPECT_EQ(found, nullptr) << "more than one " << name;
      found = &op;
    }
  }
  EXPECT_NE(found, nullptr) << "no " << name;
  return *found;
}

TEST(ForwardPass, RunsInOrder) {
  EXPECT_THAT(names(forward_pass(dense(), {})),
              testing::ElementsAre("embedding",
                                   "layer_norm",
                                   "qkv_proj",
                                   "attention",
                                   "o_proj",
                                   "gate_up_proj",
                                   "down_proj",
                                   "elementwise",
                                   "final_norm",
                                   "lm_head",
                                   "sampling"));
}

TEST(ForwardPass, ShapesOfOneGpu) {
  const auto pass = forward_pass(dense(), {});
  // (6 + 2*2) heads of 4 come out of the fused projection, 6 of 4 go into the output projection.
  EXPECT_EQ(only(pass, "qkv_proj"),
            (Operator{.name = "qkv_proj", .calls = 3, .shape = Gemm{.k = 20, .n = 40}}));
  EXPECT_EQ(only(pass, "o_proj"),
            (Operator{.name = "o_proj", .calls = 3, .shape = Gemm{.k = 24, .n = 20}}));
  EXPECT_EQ(only(pass, "gate_up_proj"),
            (Operator{.name = "gate_up_proj", .calls = 3, .shape = Gemm{.k = 20, .n = 72}}));
  EXPECT_EQ(only(pass, "down_proj"),
            (Operator{.name = "down_proj", .calls = 3, .shape = Gemm{.k = 36, .n = 20}}));
  EXPECT_EQ(only(pass, "attention"),
            (Operator{.name = "attention",
                      .calls = 3,
                      .shape = Attention{.heads = 6, .kv_heads = 2, .head_dim = 4}}));
  EXPECT_EQ(only(pass, "elementwise"),
            (Operator{.name = "elementwise",
                      .calls = 3,
                      .shape = LayerElementwise{.hidden = 20, .ffn_width = 36, .qkv_width = 40}}));
  EXPECT_EQ(only(pass, "layer_norm").calls, 6);
  EXPECT_EQ(only(pass, "lm_head"),
            (Operator{.name = "lm_head",
                      .calls = 1,
                      .shape = Gemm{.k = 20, .n = 101, .rows = Rows::kSampled}}));
  EXPECT_EQ(only(pass, "sampling"),
            (Operator{.name = "sampling", .calls = 1, .shape = Sampling{.vocab = 101}}));
}

TEST(ForwardPass, TwoRanksHalveWidthsAndExchangeTwicePerLayer) {
  const auto pass = forward_pass(dense(), {.tensor_parallel_size = 2});
  // 3 + 2*1 heads of 4.
  EXPECT_EQ(std::get<Gemm>(only(pass, "qkv_proj").shape).n, 20);
  EXPECT_EQ(std::get<Gemm>(only(pass, "o_proj").shape).k, 12);
  EXPECT_EQ(std::get<Gemm>(only(pass, "gate_up_proj").shape).n, 36);
  EXPECT_EQ(std::get<Gemm>(only(pass, "down_proj").shape).k, 18);
  EXPECT_EQ(only(pass, "all_reduce"),
            (Operator{.name = "all_reduce",
                      .calls = 6,
                      .shape = AllReduce{.width = 20, .rows = Rows::kTokens, .ranks = 2}}));
  // ceil(101 / 2) rows of the vocabulary.
  EXPECT_EQ(std::get<Embedding>(only(pass, "embedding").shape).vocab, 51);
  EXPECT_EQ(std::get<Gemm>(only(pass, "lm_head").shape).n, 51);
  EXPECT_EQ(only(pass, "logits_exchange"),
            (Operator{.name = "logits_exchange",
                      .calls = 1,
                      .shape = AllReduce{.width = 51, .rows = Rows::kSampled, .ranks = 2}}));
  // Every rank samples from the whole vocabulary.
  EXPECT_EQ(std::get<Sampling>(only(pass, "sampling").shape).vocab, 101);
}

TEST(ForwardPass, KvHeadsAreCopiedWhenRanksOutnumberThem) {
  const auto pass = forward_pass(dense(), {.tensor_parallel_size = 6});
  const auto& attention = std::get<Attention>(only(pass, "attention").shape);
  EXPECT_EQ(attention.heads, 1);
  EXPECT_EQ(attention.kv_heads, 1);
  // (1 + 2*1) heads of 4.
  EXPECT_EQ(std::get<Gemm>(only(pass, "qkv_proj").shape).n, 12);
}

TEST(ForwardPass, EqualLayersFoldAcrossGroups) {
  const auto pass = forward_pass(alternating(), {.tensor_parallel_size = 2});
  EXPECT_EQ(only(pass, "qkv_proj").calls, 4);
  EXPECT_EQ(only(pass, "all_reduce").calls, 8);
  EXPECT_EQ(only(pass, "gate_up_proj").calls, 2);
  EXPECT_EQ(only(pass, "experts"),
            (Operator{.name = "experts",
                      .calls = 2,
                      .shape = ExpertGemm{.experts = 8,
                                          .experts_on_rank = 8,
                                          .experts_per_token = 2,
                                          .hidden = 20,
                                          .width = 6}}));
  // Each rank routes by itself.
  EXPECT_EQ(only(pass, "router"),
            (Operator{.name = "router", .calls = 2, .shape = Gemm{.k = 20, .n = 8}}));
  EXPECT_EQ(std::get<Gemm>(only(pass, "shared_gate_up_proj").shape).n, 24);
  EXPECT_EQ(std::get<Gemm>(only(pass, "shared_down_proj").shape).k, 12);
}

TEST(ForwardPass, ElementwiseOfAMixtureHasNoActivationOfItsOwn) {
  std::vector<std::int64_t> widths;
  for (const Operator& op : forward_pass(alternating(), {})) {
    if (const auto* elementwise = std::get_if<LayerElementwise>(&op.shape)) {
      EXPECT_EQ(op.calls, 2);
      widths.push_back(elementwise->ffn_width);
    }
  }
  EXPECT_THAT(widths, testing::ElementsAre(36, 0));
}

TEST(ForwardPass, PartsHaveTheirOwnPrecision) {
  ModelSpec spec = alternating();
  spec.precision = {
      .attention = DType::kBf16, .ffn = DType::kFp8, .embedding = DType::kBf16, .kv = DType::kFp8};
  const auto pass = forward_pass(spec, {});
  EXPECT_EQ(std::get<Gemm>(only(pass, "qkv_proj").shape).weights, DType::kBf16);
  EXPECT_EQ(std::get<Gemm>(only(pass, "down_proj").shape).weights, DType::kFp8);
  EXPECT_EQ(std::get<ExpertGemm>(only(pass, "experts").shape).weights, DType::kFp8);
  EXPECT_EQ(std::get<Gemm>(only(pass, "router").shape).weights, DType::kBf16);
  EXPECT_EQ(std::get<Gemm>(only(pass, "lm_head").shape).weights, DType::kBf16);
  EXPECT_EQ(std::get<Attention>(only(pass, "attention").shape).kv, DType::kFp8);
  for (const Operator& op : pass) {
    if (const auto* elementwise = std::get_if<LayerElementwise>(&op.shape)) {
      EXPECT_TRUE(elementwise->quantised_activations);
    }
  }
}

TEST(ForwardPass, BiasesAndQueryKeyNormsAreCounted) {
  ModelSpec spec = dense();
  const double plain = total_parameters(spec);
  spec.layers.front().attention.qkv_bias = true;
  // 3 layers x (6 + 2*2) heads x 4
  EXPECT_EQ(total_parameters(spec), plain + 120);
  spec.layers.front().attention.output_bias = true;
  // 3 layers x 20
  EXPECT_EQ(total_parameters(spec), plain + 120 + 60);
  spec.layers.front().attention.qk_norm = true;
  // 3 layers x (query and key) x 4
  EXPECT_EQ(total_parameters(spec), plain + 120 + 60 + 24);
}

TEST(ForwardPass, TotalsOfTheSmallNetworkByHand) {
  const ModelSpec spec = dense();
  // embedding and lm_head 2*101*20 = 4040; a layer: qkv 20*40 = 800, o 24*20 = 480, gate, up and
  // down 3*20*36 = 2160, norms 2*20 = 40, so 3480, three times 10440; final norm 20.
  EXPECT_EQ(total_parameters(spec), 14500.0);
  EXPECT_EQ(active_parameters(spec), 14500.0);
  EXPECT_EQ(weight_bytes_per_rank(spec, {}).value(), 29000.0);
  // keys and values x 3 layers x 2 heads x 4 x 2 bytes
  EXPECT_EQ(kv_bytes_per_token_per_rank(spec, {}).value(), 96.0);
  EXPECT_EQ(spec.num_layers(), 3);
}

TEST(ForwardPass, TiedEmbeddingsAreStoredOnceAndStreamedStill) {
  ModelSpec spec = dense();
  spec.tied_embeddings = true;
  EXPECT_EQ(total_parameters(spec), 14500.0 - 2020.0);
  const auto pass = forward_pass(spec, {});
  EXPECT_EQ(std::get<Gemm>(only(pass, "lm_head").shape).n, 101);
  EXPECT_TRUE(std::get<Gemm>(only(pass, "lm_head").shape).tied);
}

TEST(ForwardPass, OnlyRoutedExpertsAreActive) {
  const ModelSpec spec = alternating();
  // 2 mixture layers x 6 idle experts of 8 x 3*20*12
  EXPECT_EQ(total_parameters(spec) - active_parameters(spec), 2.0 * 6 * 3 * 20 * 12);
}

}  // namespace
}  // namespace ridgeline::model
