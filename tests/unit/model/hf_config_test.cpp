#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/document.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

// What every family states, without model_type: 8 query heads of 16 over 2 KV heads.
const std::string kBody =
    R"({"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 1000,
        "max_position_embeddings": 2048})";

std::string of_type(const std::string& type, const std::string& body = kBody) {
  return with("\"model_type\": \"" + type + "\"", body);
}

const std::string kMixtral =
    with(R"("num_local_experts": 8, "num_experts_per_tok": 2)", of_type("mixtral"));
const std::string kQwenMoe =
    with(R"("num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32)",
         of_type("qwen3_moe"));
const std::string kLlama4 =
    with(R"("num_local_experts": 8, "num_experts_per_tok": 1, "intermediate_size_mlp": 192)",
         of_type("llama4"));

ModelSpec accepted(const std::string& text) {
  const auto spec = read_text(text);
  EXPECT_TRUE(spec.has_value()) << problems(text);
  return spec.value_or(ModelSpec{});
}

AttentionSpec attention(const std::string& text) {
  const ModelSpec spec = accepted(text);
  return spec.layers.empty() ? AttentionSpec{} : spec.layers.front().attention;
}

TEST(HfConfig, LlamaReadsPlainly) {
  const ModelSpec spec = accepted(of_type("llama"));
  EXPECT_EQ(spec.name, "test");
  EXPECT_EQ(spec.family, "llama");
  EXPECT_EQ(spec.hidden_size, 128);
  EXPECT_EQ(spec.vocab_size, 1000);
  EXPECT_EQ(spec.max_position.value(), 2048);
  EXPECT_FALSE(spec.tied_embeddings);
  EXPECT_EQ(spec.layers,
            (std::vector<LayerGroup>{{.count = 4,
                                      .attention = {.heads = 8, .kv_heads = 2, .head_dim = 16},
                                      .ffn = DenseFfn{.width = 96}}}));
  EXPECT_EQ(spec.precision, Precision{});
}

TEST(HfConfig, HeadDimIsTheFilesWhereItSaysOne) {
  EXPECT_EQ(attention(with("\"head_dim\": 32", of_type("llama"))).head_dim, 32);
  EXPECT_EQ(attention(with("\"head_dim\": null", of_type("llama"))).head_dim, 16);
}

TEST(HfConfig, KvHeadsAreTheQueryHeadsWhereTheFileSaysNone) {
  const std::string body = R"({"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 4,
      "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 1000,
      "max_position_embeddings": 2048})";
  EXPECT_EQ(attention(body).kv_heads, 8);
}

TEST(HfConfig, BiasesAndNormsAreTheFamilys) {
  EXPECT_FALSE(attention(of_type("llama")).qkv_bias);
  const AttentionSpec biased = attention(with("\"attention_bias\": true", of_type("llama")));
  EXPECT_TRUE(biased.qkv_bias);
  EXPECT_TRUE(biased.output_bias);
  const AttentionSpec qwen2 = attention(of_type("qwen2"));
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.output_bias);
  EXPECT_FALSE(qwen2.qk_norm);
  const AttentionSpec qwen3 = attention(of_type("qwen3"));
  EXPECT_FALSE(qwen3.qkv_bias);
  EXPECT_TRUE(qwen3.qk_norm);
  EXPECT_TRUE(attention(kQwenMoe).qk_norm);
  EXPECT_FALSE(attention(with("\"use_qk_norm\": true", kLlama4)).qk_norm);
}

TEST(HfConfig, MixtralHasExpertsInEveryLayer) {
  const ModelSpec spec = accepted(kMixtral);
  EXPECT_EQ(spec.layers.size(), 1U);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers.front().ffn),
            (MoeFfn{.experts = 8, .experts_per_token = 2, .expert_width = 96}));
}

/// "d2 m1": two dense layers, then one mixture.
std::string order(const ModelSpec& spec) {
  std::string text;
  for (const LayerGroup& group : spec.layers) {
    text += (text.empty() ? "" : " ") +
            std::string(std::holds_alternative<MoeFfn>(group.ffn) ? "m" : "d") +
            std::to_string(group.count);
  }
  return text;
}

TEST(HfConfig, Qwen3MoePlacesItsExpertsBySparseStepAndList) {
  EXPECT_EQ(order(accepted(kQwenMoe)), "m4");
  // Layers 1 and 3 (from 0) are the second and the fourth.
  EXPECT_EQ(order(accepted(with("\"decoder_sparse_step\": 2", kQwenMoe))), "d1 m1 d1 m1");
  EXPECT_EQ(order(accepted(with("\"mlp_only_layers\": [0, 3]", kQwenMoe))), "d1 m2 d1");
  const ModelSpec spec = accepted(with("\"mlp_only_layers\": [0]", kQwenMoe));
  EXPECT_EQ(std::get<DenseFfn>(spec.layers[0].ffn).width, 96);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[1].ffn),
            (MoeFfn{.experts = 8, .experts_per_token = 2, .expert_width = 32}));
}

TEST(HfConfig, Llama4InterleavesAndSharesAnExpert) {
  EXPECT_EQ(order(accepted(with("\"interleave_moe_layer_step\": 1", kLlama4))), "m4");
  EXPECT_EQ(order(accepted(with("\"moe_layers\": [0, 1]", kLlama4))), "m2 d2");
  const ModelSpec spec = accepted(with("\"interleave_moe_layer_step\": 2", kLlama4));
  EXPECT_EQ(order(spec), "d1 m1 d1 m1");
  EXPECT_EQ(std::get<DenseFfn>(spec.layers[0].ffn).width, 192);
  EXPECT_EQ(std::get<MoeFfn>(spec.layers[1].ffn),
            (MoeFfn{.experts = 8, .experts_per_token = 1, .expert_width = 96, .shared_width = 96}));
}

TEST(HfConfig, TextConfigIsLifted) {
  const std::string nested =
      R"({"model_type": "llama4", "torch_dtype": "bfloat16",
      "vision_config": {"hidden_size": 7, "num_hidden_layers": 9},
      "text_config": )" +
      with(R"("torch_dtype": "float16", "tie_word_embeddings": true)", kLlama4) + "}";
  const ModelSpec spec = accepted(nested);
  EXPECT_EQ(spec.family, "llama4");
  EXPECT_EQ(spec.hidden_size, 128);
  EXPECT_TRUE(spec.tied_embeddings);
  EXPECT_EQ(spec.precision.attention, DType::kFp16);  // the inner one
}

TEST(HfConfig, SamplingDefaultsComeFromTheGenerationConfig) {
  const ModelSpec spec =
      accepted(with(R"("_generation": {"top_p": 0.8, "top_k": 20, "repetition_penalty": 1.05,
              "do_sample": true, "eos_token_id": [1, 2]})",
                    of_type("llama")));
  EXPECT_EQ(spec.sampling,
            (SamplingDefaults{.top_p = 0.8, .top_k = 20, .repetition_penalty = 1.05}));
  EXPECT_TRUE(spec.sampling.truncates());
  EXPECT_TRUE(spec.sampling.penalises());
  EXPECT_EQ(accepted(of_type("llama")).sampling, SamplingDefaults{});
  EXPECT_THAT(problems(with(R"("_generation": {"top_p": 1.5})", of_type("llama"))),
              HasSubstr("top_p"));
}

TEST(HfConfig, SlidingWindowsAreRefusedWhereTheyWouldCut) {
  EXPECT_THAT(problems(with("\"sliding_window\": 1024", of_type("mistral"))),
              HasSubstr("sliding-window attention (sliding_window 1024) is not modelled yet"));
  EXPECT_EQ(problems(with("\"sliding_window\": null", of_type("mistral"))), "accepted");
  EXPECT_EQ(problems(with("\"sliding_window\": 2048", of_type("mistral"))), "accepted");
  // MistralConfig's default of 4096 is no shorter than these 2048 positions ...
  EXPECT_EQ(problems(of_type("mistral")), "accepted");
  // ... but shorter than these.
  EXPECT_THAT(problems(R"({"model_type": "mistral", "hidden_size": 128, "num_hidden_layers": 4,
                           "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 1000,
                           "max_position_embeddings": 32768})"),
              HasSubstr("sliding_window 4096, the family's default"));
  EXPECT_THAT(problems(with("\"sliding_window\": 512", kMixtral)), HasSubstr("sliding_window 512"));

  EXPECT_EQ(problems(with("\"sliding_window\": 512", of_type("qwen2"))), "accepted");
  EXPECT_THAT(
      problems(with("\"sliding_window\": 512, \"use_sliding_window\": true", of_type("qwen2"))),
      HasSubstr("sliding-window attention (sliding_window 512) is not modelled yet"));
  EXPECT_THAT(
      problems(with(R"("layer_types": ["full_attention", "sliding_attention"])", of_type("qwen3"))),
      HasSubstr("a layer of type \"sliding_attention\" is not modelled yet"));
  EXPECT_EQ(problems(with(R"("layer_types": ["full_attention"])", of_type("qwen3"))), "accepted");
}

TEST(HfConfig, OtherArchitecturesAreRefusedByName) {
  EXPECT_THAT(problems(of_type("deepseek_v3")),
              HasSubstr("networks of type \"deepseek_v3\" are not modelled yet (supported: llama, "
                        "llama4, mistral, mixtral, qwen2, qwen3, qwen3_moe)"));
  EXPECT_THAT(problems(kBody), HasSubstr("model_type: is missing, expected one of llama, "));
  EXPECT_NE(problems(of_type("a\\nb")), "accepted");  // `problems` refuses messages of two lines
  EXPECT_THAT(problems(with("\"model_type\": 3", kBody)), HasSubstr("3 is not one of llama"));
  EXPECT_THAT(problems(with("\"kv_lora_rank\": 512", of_type("llama"))),
              HasSubstr("multi-head latent attention (kv_lora_rank) is not modelled yet"));
  EXPECT_THAT(problems(with("\"ssm_state_size\": 128", of_type("llama"))),
              HasSubstr("a state-space layer (ssm_state_size) is not modelled yet"));
  EXPECT_EQ(problems(with("\"kv_lora_rank\": null", of_type("llama"))), "accepted");
  EXPECT_THAT(problems(with("\"mlp_bias\": true", of_type("llama"))),
              HasSubstr("a bias in the feed-forward network is not modelled yet"));
  EXPECT_THAT(problems(with("\"shared_expert_intermediate_size\": 64", kQwenMoe)),
              HasSubstr("a shared expert in qwen3_moe is not modelled yet"));
}

TEST(HfConfig, EveryProblemIsReportedTogether) {
  const std::string all = problems(R"({"model_type": "llama", "num_hidden_layers": 0,
      "num_attention_heads": "eight", "hidden_size": 1.5})");
  for (const char* key : {"num_hidden_layers",
                          "num_attention_heads",
                          "hidden_size",
                          "vocab_size",
                          "max_position_embeddings",
                          "intermediate_size"}) {
    EXPECT_THAT(all, HasSubstr(std::string("model.") + key));
  }
}

TEST(HfConfig, NumbersThatCannotBeAreRefused) {
  const auto replaced = [](const std::string& key, const std::string& value) {
    std::string text = of_type("llama");
    const std::size_t at = text.find("\"" + key + "\":") + key.size() + 3;
    return text.replace(at, text.find_first_of(",}", at) - at, value);
  };
  for (const std::string key : {"hidden_size",
                                "num_hidden_layers",
                                "num_attention_heads",
                                "num_key_value_heads",
                                "intermediate_size",
                                "vocab_size",
                                "max_position_embeddings"}) {
    for (const std::string value :
         {"0", "-1", "1e9", "9223372036854775807", "\"12\"", "[1]", "{}", "true", "2.5"}) {
      EXPECT_THAT(problems(replaced(key, value)), HasSubstr(key)) << value;
    }
  }
  EXPECT_THAT(problems(replaced("num_hidden_layers", "1000000000")),
              HasSubstr("num_hidden_layers"));
  EXPECT_NE(problems(replaced("hidden_size", "18446744073709551616")), "accepted");
  EXPECT_NE(problems(replaced("hidden_size", "1e999")), "accepted");
}

TEST(HfConfig, CountsThatContradictEachOtherAreRefused) {
  EXPECT_THAT(problems(R"({"model_type": "llama", "hidden_size": 100, "num_hidden_layers": 4,
                           "num_attention_heads": 8, "num_key_value_heads": 3,
                           "intermediate_size": 96, "vocab_size": 1000,
                           "max_position_embeddings": 2048})"),
              testing::AllOf(HasSubstr("3 does not divide num_attention_heads 8"),
                             HasSubstr("is missing, and num_attention_heads 8 does not divide "
                                       "hidden_size 100")));
  EXPECT_THAT(
      problems(with("\"num_local_experts\": 2, \"num_experts_per_tok\": 3", of_type("mixtral"))),
      HasSubstr("3 is more than num_local_experts 2"));
  EXPECT_THAT(problems(with("\"mlp_only_layers\": [4]", kQwenMoe)), HasSubstr("mlp_only_layers"));
  EXPECT_THAT(problems(with("\"moe_layers\": [-1]", kLlama4)), HasSubstr("moe_layers"));
}

TEST(HfConfig, WhatIsNoMapIsRefused) {
  EXPECT_THAT(problems("[]"), HasSubstr("not a network's configuration"));
  EXPECT_THAT(problems("12"), HasSubstr("not a network's configuration"));
  EXPECT_THAT(problems("{}"), HasSubstr("model_type"));
  EXPECT_THAT(problems(R"({"text_config": {}})"), HasSubstr("model_type"));
  EXPECT_THAT(problems(R"({"text_config": 3, "model_type": "llama"})"), HasSubstr("hidden_size"));
}

TEST(HfConfig, DeepNestingIsRefused) {
  std::string deep = "{\"model_type\": \"llama\", \"quantization_config\": ";
  for (int i = 0; i < 100'000; ++i) {
    deep += "[";
  }
  EXPECT_NE(problems(deep), "accepted");
  std::string nested = of_type("llama");
  for (int i = 0; i < 20; ++i) {
    nested = R"({"text_config": )" + nested + "}";
  }
  EXPECT_THAT(problems(nested), HasSubstr("model_type"));  // one level is lifted, not twenty
}

core::Location command_line() {
  return {.file = "command line"};
}

/// `text` with a member set on the command line, as --set does.
core::Result<ModelSpec> patched(const std::string& text, const std::string& key, core::Node value) {
  const auto document = core::parse_json(text, "config.json");
  std::vector<core::Node::Member> members = document->members();
  std::erase_if(members, [&](const core::Node::Member& member) { return member.key == key; });
  members.push_back({.key = key, .value = std::move(value), .where = command_line()});
  return model_from_node(core::Node::map(members, document->where()), "test");
}

TEST(HfConfig, TheCommandLineMayReplaceValues) {
  const auto spec =
      patched(of_type("llama"), "num_hidden_layers", core::Node::integer(40, command_line()));
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->num_layers(), 40);
  EXPECT_THAT(spec->provenance,
              testing::Contains(testing::Pair("num_hidden_layers", "command line")));
}

TEST(HfConfig, TheCommandLineMayNotSetWhatNobodyReads) {
  const auto spec =
      patched(of_type("llama"), "num_hiden_layers", core::Node::integer(40, command_line()));
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().size(), 1U);
  EXPECT_EQ(spec.error().front().field, "model.num_hiden_layers");
  EXPECT_EQ(spec.error().front().hint, "did you mean 'num_hidden_layers'?");
  // A published file may hold it.
  EXPECT_EQ(problems(with("\"num_hiden_layers\": 40", of_type("llama"))), "accepted");
}

TEST(HfConfig, ProvenanceSaysWhereValuesStood) {
  const ModelSpec spec = accepted("{\"model_type\": \"llama\",\n\"hidden_size\": 128,\n" +
                                  kBody.substr(kBody.find("\"num_hidden_layers\"")));
  EXPECT_THAT(spec.provenance, testing::Contains(testing::Pair("hidden_size", "config.json:2")));
  EXPECT_THAT(
      spec.provenance,
      testing::Contains(testing::Pair("head_dim", "default: hidden_size / num_attention_heads")));
  EXPECT_THAT(spec.provenance,
              testing::Contains(testing::Pair("tie_word_embeddings", HasSubstr("default"))));
}

}  // namespace
}  // namespace ridgeline::model
