#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/config_keys.hpp"
#include "model/config_reader.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

const std::string kLlama4 =
    with(R"("num_local_experts": 8, "num_experts_per_tok": 1, "intermediate_size_mlp": 192)",
         of_type("llama4"));

TEST(HfConfig, ReadsWhatAllFamiliesState) {
  const ModelSpec spec = accepted(of_type("llama"));
  EXPECT_EQ(spec.name, "test");
  EXPECT_EQ(spec.family, "llama");
  EXPECT_EQ(spec.hidden_size, 128);
  EXPECT_EQ(spec.vocab_size, 1000);
  EXPECT_EQ(spec.max_position.value(), 2048);
  EXPECT_FALSE(spec.tied_embeddings);
  EXPECT_EQ(spec.num_layers(), 4);
  EXPECT_EQ(spec.precision, Precision{});
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

TEST(HfConfig, OtherArchitecturesAreRefusedByName) {
  EXPECT_THAT(
      problems(of_type("rwkv7")),
      HasSubstr("networks of type \"rwkv7\" are not modelled yet (it reads like llama: --set "
                "model.model_type=llama; supported: bailing_hybrid, deepseek_ref, deepseek_v2, "));
  EXPECT_THAT(problems(kBody),
              HasSubstr("model_type: is missing, expected one of bailing_hybrid, "));
  EXPECT_NE(problems(of_type("a\\nb")), "accepted");  // `problems` refuses messages of two lines
  EXPECT_THAT(problems(with("\"model_type\": 3", kBody)),
              HasSubstr("3 is not one of bailing_hybrid"));
  EXPECT_THAT(
      problems(with("\"kv_lora_rank\": 512", of_type("llama"))),
      HasSubstr("multi-head latent attention (kv_lora_rank) in networks of type llama is not "
                "modelled yet"));
  EXPECT_THAT(problems(with("\"ssm_state_size\": 128", of_type("llama"))),
              HasSubstr("a state-space layer (ssm_state_size) in networks of type llama"));
  EXPECT_EQ(problems(with("\"kv_lora_rank\": null", of_type("llama"))), "accepted");
}

TEST(HfConfig, KeysThatChangeTheNetworkAreReadOrRefused) {
  for (const char* member : {R"("layer_types": ["sliding_attention", "full_attention"])",
                             R"("sliding_window": 512)",
                             R"("num_local_experts": 8)",
                             R"("n_routed_experts": 64)",
                             R"("add_cross_attention": true)",
                             R"("audio_config": {"depth": 3})"}) {
    const std::string key = std::string(member).substr(1, std::string(member).find("\":") - 1);
    EXPECT_THAT(problems(with(member, of_type("llama"))), HasSubstr("model." + key)) << member;
  }
  // A value that says the feature is absent changes nothing, nor does a window as long as any text.
  for (const char* member : {R"("layer_types": ["full_attention", "full_attention"])",
                             R"("sliding_window": null)",
                             R"("sliding_window": 2048)",
                             R"("num_local_experts": 0)",
                             R"("add_cross_attention": false)",
                             R"("audio_config": {})"}) {
    EXPECT_TRUE(accepted(with(member, of_type("llama"))).unread_keys.empty()) << member;
  }
  // Refused once, though the command line set it and no reader asked for it.
  const document::Node eight = document::Node::integer(8, {.file = "command line"});
  const auto document = document::parse_json(of_type("llama"), "config.json");
  std::vector<document::Node::Member> members = document->members();
  members.push_back({.key = "num_local_experts", .value = eight, .where = eight.where()});
  EXPECT_EQ(model_from_node(document::Node::map(members, {}), "test").error().size(), 1U);
}

TEST(ConfigKeys, WhatAFamilyImpliesIsNotRefused) {
  static constexpr std::array<std::string_view, 1> kImplied = {"use_qk_norm"};
  const auto document = document::parse_json(R"({"use_qk_norm": true})", "config.json");
  for (const bool implies : {true, false}) {
    core::Errors errors;
    ConfigReader::Provenance provenance;
    ConfigReader config(*document, errors, provenance);
    Family family{.model_type = "test", .layers = nullptr};
    if (implies) {
      family.implied = kImplied;
    }
    EXPECT_TRUE(check_unread_keys(*document, family, config).empty());
    EXPECT_EQ(errors.empty(), implies);
  }
}

TEST(HfConfig, KeysThatAreNotKnownAreNamed) {
  const ModelSpec spec = accepted(with(
      R"("hyper_layers": 3, "rope_theta": 1e6, "other_layers": 0, "_ours": 1)", of_type("llama")));
  EXPECT_THAT(spec.unread_keys, testing::ElementsAre("\"hyper_layers\""));
  // What lacks its sizes is not counted.
  EXPECT_THAT(accepted(with(R"("vision_config": {"depth": 3})", of_type("llama"))).unread_keys,
              testing::ElementsAre("\"vision_config\""));
}

TEST(HfConfig, AnotherFamilysReaderIsNamedWhereItUnderstandsTheFile) {
  EXPECT_THAT(
      problems(with(R"("num_local_experts": 8, "num_experts_per_tok": 2)", of_type("somemoe"))),
      HasSubstr("it reads like mixtral: --set model.model_type=mixtral"));
  EXPECT_THAT(problems(with(R"("hyper_layers": 3)", of_type("new"))),
              HasSubstr("it reads like llama but for \"hyper_layers\": --set"));
  EXPECT_THAT(problems(R"({"model_type": "new"})"), testing::Not(HasSubstr("reads like")));
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
core::Result<ModelSpec> patched(const std::string& text,
                                const std::string& key,
                                document::Node value) {
  const auto document = document::parse_json(text, "config.json");
  std::vector<document::Node::Member> members = document->members();
  std::erase_if(members, [&](const document::Node::Member& member) { return member.key == key; });
  members.push_back({.key = key, .value = std::move(value), .where = command_line()});
  return model_from_node(document::Node::map(members, document->where()), "test");
}

TEST(HfConfig, TheCommandLineMayReplaceValues) {
  const auto spec =
      patched(of_type("llama"), "num_hidden_layers", document::Node::integer(40, command_line()));
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->num_layers(), 40);
  EXPECT_THAT(spec->provenance,
              testing::Contains(testing::Pair("num_hidden_layers", "command line")));
}

TEST(HfConfig, TheCommandLineMayNotSetUnreadKeys) {
  const auto spec =
      patched(of_type("llama"), "num_hiden_layers", document::Node::integer(40, command_line()));
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().size(), 1U);
  EXPECT_EQ(spec.error().front().field, "model.num_hiden_layers");
  EXPECT_EQ(spec.error().front().hint, "did you mean 'num_hidden_layers'?");
  // A published file may hold it.
  EXPECT_EQ(problems(with("\"num_hiden_layers\": 40", of_type("llama"))), "accepted");
}

TEST(HfConfig, WhatEncodesTextIsNoDecoder) {
  for (const char* member :
       {R"("architectures": ["BertForMaskedLM"])", R"("type_vocab_size": 2)"}) {
    const std::string text = problems(with(member, of_type("bert")));
    EXPECT_THAT(text, HasSubstr("decoders alone are modelled")) << member;
    EXPECT_THAT(text, testing::Not(HasSubstr("it reads like"))) << member;
  }
  EXPECT_THAT(problems(with(R"("architectures": ["FooForCausalLM"])", of_type("foo"))),
              HasSubstr("it reads like llama"));
}

TEST(HfConfig, UnknownArchitecturesAndPositionsAreNamed) {
  const auto unknown = [](std::string_view member) {
    return accepted(with(member, of_type("llama"))).unread_keys;
  };
  EXPECT_THAT(unknown(R"("architectures": ["FooForCausalLM"])"),
              testing::ElementsAre("architectures \"FooForCausalLM\""));
  EXPECT_THAT(unknown(R"("architectures": ["LlamaForSequenceClassification"])"),
              testing::SizeIs(1));
  EXPECT_THAT(unknown(R"("rope_scaling": {"rope_type": "foo", "factor": 8})"),
              testing::ElementsAre("rope_scaling \"foo\""));
  EXPECT_THAT(unknown(R"("rope_parameters": {"full_attention": {"type": "foo"}})"),
              testing::ElementsAre("rope_parameters \"foo\""));
  EXPECT_THAT(unknown(R"("architectures": ["LlamaForCausalLM"], "rope_scaling": {"type": "yarn"})"),
              testing::IsEmpty());
  EXPECT_THAT(unknown(R"("architectures": ["Qwen3_5MoeForConditionalGeneration"])"),
              testing::IsEmpty());
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
