#include "model/families/common.hpp"

#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

TEST(Attention, HeadDimIsTheFilesWhereItSaysOne) {
  EXPECT_EQ(attention(of_type("llama")).head_dim, 16);  // 128 / 8
  EXPECT_EQ(attention(with("\"head_dim\": 32", of_type("llama"))).head_dim, 32);
  EXPECT_EQ(attention(with("\"head_dim\": null", of_type("llama"))).head_dim, 16);
}

TEST(Attention, KvHeadsAreTheQueryHeadsWhereTheFileSaysNone) {
  const std::string body = R"({"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 4,
      "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 1000,
      "max_position_embeddings": 2048})";
  EXPECT_EQ(attention(body).kv_heads, 8);
  EXPECT_EQ(attention(of_type("llama")).kv_heads, 2);
}

TEST(Attention, CountsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(problems(R"({"model_type": "llama", "hidden_size": 100, "num_hidden_layers": 4,
                           "num_attention_heads": 8, "num_key_value_heads": 3,
                           "intermediate_size": 96, "vocab_size": 1000,
                           "max_position_embeddings": 2048})"),
              testing::AllOf(HasSubstr("3 does not divide num_attention_heads 8"),
                             HasSubstr("is missing, and num_attention_heads 8 does not divide "
                                       "hidden_size 100")));
}

TEST(Experts, ATokenUsesNoMoreThanThereAre) {
  EXPECT_THAT(
      problems(with(R"("num_local_experts": 2, "num_experts_per_tok": 3)", of_type("mixtral"))),
      HasSubstr("3 is more than num_local_experts 2"));
  EXPECT_EQ(
      problems(with(R"("num_local_experts": 2, "num_experts_per_tok": 2)", of_type("mixtral"))),
      "accepted");
}

TEST(Layers, NeighboursOfEqualShapeFormAGroup) {
  const AttentionSpec attention{.heads = 2, .kv_heads = 1, .head_dim = 3};
  const auto groups =
      mixed({true, true, false, true}, attention, DenseFfn{.width = 5}, MoeFfn{.experts = 7});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].count, 2);
  EXPECT_EQ(std::get<MoeFfn>(groups[0].ffn).experts, 7);
  EXPECT_EQ(groups[1].count, 1);
  EXPECT_EQ(std::get<DenseFfn>(groups[1].ffn).width, 5);
  EXPECT_EQ(groups[2].count, 1);
  EXPECT_EQ(groups[2].attention, attention);
  EXPECT_TRUE(mixed({}, attention, {}, {}).empty());
}

TEST(PerLayer, AListMayGoOnWithDraftingLayers) {
  const auto list = [](const std::string& layers) {
    return problems(with(R"("sliding_window": 64, "num_experts": 8, "num_experts_per_tok": 2,
                            "moe_intermediate_size": 32, "num_nextn_predict_layers": 2,
                            "layer_types": [)" +
                             layers + "]",
                         of_type("step3p7")));
  };
  const std::string four =
      R"("full_attention", "full_attention", "full_attention", "full_attention")";
  EXPECT_EQ(list(four), "accepted");
  EXPECT_EQ(list(four + R"(, "full_attention", "sliding_attention")"), "accepted");
  EXPECT_THAT(list(four + R"(, "full_attention")"),
              testing::HasSubstr("layer_types: has 5 entries, expected 4"));
}

}  // namespace
}  // namespace ridgeline::model
