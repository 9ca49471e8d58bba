#include "model/precision.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/pass.hpp"
#include "unit/model/config_text.hpp"

namespace ridgeline::model {
namespace {

using testing::HasSubstr;

const std::string kPrecisionConfig =
    R"({"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 3,
        "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 1000,
        "max_position_embeddings": 2048})";

std::string quantised(const std::string& members) {
  return with("\"quantization_config\": {" + members + "}", kPrecisionConfig);
}

const std::string kGroup =
    R"("config_groups": {"group_0": {"weights": {"num_bits": 8, "type": "float"},
       "input_activations": {"num_bits": 8, "type": "float"}}})";

Precision precision(const std::string& text) {
  const auto spec = read_text(text);
  EXPECT_TRUE(spec.has_value()) << problems(text);
  return spec ? spec->precision : Precision{};
}

constexpr Precision kAllFp8 = {
    .attention = DType::kFp8, .ffn = DType::kFp8, .embedding = DType::kBf16, .kv = DType::kBf16};
constexpr Precision kFfnFp8 = {
    .attention = DType::kBf16, .ffn = DType::kFp8, .embedding = DType::kBf16, .kv = DType::kBf16};

TEST(Precision, FollowsTheDtype) {
  constexpr Precision kHalf = {.attention = DType::kFp16,
                               .ffn = DType::kFp16,
                               .embedding = DType::kFp16,
                               .kv = DType::kFp16};
  EXPECT_EQ(precision(with(R"("torch_dtype": "float16")", kPrecisionConfig)), kHalf);
  EXPECT_EQ(precision(with(R"("dtype": "float16", "torch_dtype": "bfloat16")", kPrecisionConfig)),
            kHalf);
  EXPECT_EQ(precision(with(R"("torch_dtype": "bfloat16")", kPrecisionConfig)), Precision{});
  EXPECT_EQ(precision(with(R"("torch_dtype": "float32")", kPrecisionConfig)), Precision{});
  EXPECT_EQ(precision(kPrecisionConfig), Precision{});
  EXPECT_THAT(problems(with(R"("torch_dtype": "float8_e4m3fn")", kPrecisionConfig)),
              HasSubstr("\"float8_e4m3fn\" is not one of bfloat16, float16, float32"));
}

TEST(Precision, ReadsTheThreeWaysToSayFp8) {
  EXPECT_EQ(precision(quantised(R"("quant_method": "fp8", "fmt": "e4m3")")), kAllFp8);
  EXPECT_EQ(precision(quantised(R"("quant_method": "fp8")")), kAllFp8);
  EXPECT_EQ(precision(quantised(R"("quant_method": "compressed-tensors", )" + kGroup)), kAllFp8);
  EXPECT_EQ(precision(quantised(R"("quant_method": "modelopt", "quant_algo": "FP8")")), kAllFp8);
  EXPECT_EQ(precision(quantised(R"("quant_algo": "FP8", )" + kGroup)), kAllFp8);
  EXPECT_EQ(precision(with("\"quantization_config\": null", kPrecisionConfig)), Precision{});
}

TEST(Precision, GptqNamesWhatIsLeftOut) {
  const std::string gptq = R"("quant_method": "gptq", "bits": 4, "group_size": 128)";
  EXPECT_EQ(precision(quantised(gptq)).attention, DType::kInt4);
  const Precision dynamic = precision(quantised(
      gptq + R"(, "dynamic": {"lm_head": {}, "-:.*attn.*": {}, "+:.*mlp.*": {"bits": 8}})"));
  EXPECT_EQ(dynamic.attention, DType::kBf16);
  EXPECT_EQ(dynamic.ffn, DType::kInt8WeightOnly);
  EXPECT_FALSE(dynamic.lm_head.has_value());
  const Precision named = precision(quantised(
      gptq +
      R"(, "lm_head": true, "modules_in_block_to_quantize": [["mlp.up_proj", "mlp.gate_proj"]])"));
  EXPECT_EQ(named.attention, DType::kBf16);
  EXPECT_EQ(named.ffn, DType::kInt4);
  EXPECT_EQ(named.lm_head, DType::kInt4);
}

TEST(Precision, FormatsOfWeightsAndInputsTogether) {
  const auto group = [](const std::string& weights, const std::string& inputs) {
    return precision(quantised(R"("quant_method": "compressed-tensors", "config_groups": {"g":
        {"weights": {)" + weights +
                               R"(}, "input_activations": )" + inputs + "}}"))
        .ffn;
  };
  EXPECT_EQ(group(R"("num_bits": 8, "type": "float", "group_size": 32)", R"({"num_bits": 8})"),
            DType::kMxfp8);
  EXPECT_EQ(group(R"("num_bits": 4, "type": "int", "group_size": 128)", R"({"num_bits": 8})"),
            DType::kInt4With8Bit);
  EXPECT_EQ(group(R"("num_bits": 4, "type": "int", "group_size": 128)", "null"), DType::kInt4);
  EXPECT_EQ(precision(quantised(R"("quant_method": "modelopt", "quant_algo": "W4A8_AWQ")")).ffn,
            DType::kInt4With8Bit);
  EXPECT_EQ(precision(quantised(R"("quant_method": "mxfp8")")).ffn, DType::kMxfp8);
}

TEST(Precision, KeysOfOtherNames) {
  EXPECT_EQ(
      precision(with("\"compression_config\": {\"quant_method\": \"fp8\"}", kPrecisionConfig)),
      kAllFp8);
  EXPECT_THAT(problems(with("\"quantization\": {\"bits\": 4}", kPrecisionConfig)),
              HasSubstr("MLX"));
  const auto sparse = read_text(
      quantised(R"("quant_method": "fp8", "sparsity_config": {"format": "sparse-24-bitmask"})"));
  ASSERT_TRUE(sparse.has_value());
  ASSERT_EQ(sparse->unread_keys.size(), 1U);
  EXPECT_THAT(sparse->unread_keys[0], HasSubstr("sparse-24-bitmask"));
}

TEST(Precision, KeepsKvCacheApart) {
  EXPECT_EQ(precision(quantised(
                          R"("quant_method": "modelopt", "quant_algo": "FP8",
                             "kv_cache_quant_algo": "FP8")"))
                .kv,
            DType::kFp8);
  EXPECT_EQ(precision(quantised(R"("quant_method": "compressed-tensors",
                                   "kv_cache_scheme": {"num_bits": 8, "type": "float"}, )" +
                                kGroup))
                .kv,
            DType::kFp8);
  EXPECT_EQ(precision(quantised(R"("quant_method": "compressed-tensors",
                                   "kv_cache_scheme": null, )" +
                                kGroup))
                .kv,
            DType::kBf16);
  EXPECT_THAT(problems(quantised(R"("quant_algo": "FP8", "kv_cache_quant_algo": "NVFP4")")),
              HasSubstr("the KV cache format \"NVFP4\" is not modelled yet"));
}

TEST(Precision, AttentionOfAllLayersMayStayUnquantised) {
  const std::string method = R"("quant_method": "fp8", )";
  EXPECT_EQ(precision(quantised(method + R"("ignore": ["re:.*self_attn.*", "lm_head"])")), kFfnFp8);
  EXPECT_EQ(
      precision(quantised(method + R"("modules_to_not_convert": ["model.layers.*.self_attn"])")),
      kFfnFp8);
  EXPECT_EQ(precision(quantised(method + R"("ignore": ["re:.*self_attn\\.qkv_proj$",
                                       "re:.*self_attn\\.o_proj"])")),
            kFfnFp8);
  std::string each = "\"ignore\": [\"vision_model.layers.0.self_attn.q_proj\"";
  for (const char* layer : {"0", "1", "2"}) {
    for (const char* part : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      each += std::string(",\"language_model.model.layers.") + layer + ".self_attn." + part + "\"";
    }
  }
  EXPECT_EQ(precision(quantised(method + each + "]")), kFfnFp8);
}

TEST(Precision, PartsThatAreNeverQuantisedMayBeNamed) {
  EXPECT_EQ(precision(quantised(
                R"("quant_method": "fp8", "modules_to_not_convert": ["lm_head",
                   "model.layers.0.input_layernorm", "model.layers.0.mlp.gate",
                   "model.layers.1.feed_forward.router", "model.embed_tokens",
                   "multi_modal_projector.linear_1"])")),
            kAllFp8);
}

/// Per layer: mixer in, mixer out, feed-forward network.
std::string by_layer(std::string_view text) {
  const ModelSpec spec = accepted(text);
  std::string all;
  for (const LayerGroup& group : spec.layers) {
    const LayerPrecision own = layer_precision(spec, group);
    all += std::string(all.empty() ? "" : "; ") + std::to_string(group.count) + " x " +
           name(own.mixer_in) + " " + name(own.mixer_out) + " " + name(own.ffn);
  }
  return all;
}

TEST(Precision, PartOfTheLayersMayStayUnquantised) {
  const std::string method = R"("quant_method": "fp8", )";
  EXPECT_EQ(by_layer(quantised(method + R"("ignore": ["model.layers.1.self_attn*", "lm_head"])")),
            "1 x fp8 fp8 fp8; 1 x bf16 bf16 fp8; 1 x fp8 fp8 fp8");
  EXPECT_EQ(by_layer(quantised(method + R"("ignore": ["re:.*self_attn.o_proj"])")),
            "3 x fp8 bf16 fp8");
  EXPECT_EQ(by_layer(quantised(method + R"("ignore": ["model.layers.0.mlp"])")),
            "1 x fp8 fp8 bf16; 2 x fp8 fp8 fp8");
  EXPECT_EQ(by_layer(quantised(method + R"("ignore": ["model.layers.0*"])")),
            "1 x bf16 bf16 bf16; 2 x fp8 fp8 fp8");
  EXPECT_EQ(by_layer(quantised(method + R"("ignore": ["re:model\\.layers\\.(0|2)\\.mlp.*"])")),
            "1 x fp8 fp8 bf16; 1 x fp8 fp8 fp8; 1 x fp8 fp8 bf16");
  EXPECT_THAT(problems(quantised(method + R"("ignore": [7])")), HasSubstr("leaving 7 unquantised"));
  EXPECT_THAT(problems(quantised(method + R"("ignore": ["re:(unclosed"])")),
              HasSubstr("leaving \"re:(unclosed\" unquantised"));
  EXPECT_THAT(problems(quantised(method + R"("ignore": "lm_head")")),
              HasSubstr("is not a list of module names"));
}

TEST(Precision, IntegerWeights) {
  EXPECT_EQ(by_layer(quantised(R"("quant_method": "awq", "bits": 4, "group_size": 128)")),
            "3 x int4 int4 int4");
  EXPECT_EQ(by_layer(quantised(R"("quant_method": "gptq", "bits": 8)")),
            "3 x int8 weights int8 weights int8 weights");
  EXPECT_THAT(problems(quantised(R"("quant_method": "gptq", "bits": 3)")),
              HasSubstr("3-bit weights is not modelled yet"));
  EXPECT_EQ(by_layer(quantised(R"("quant_method": "compressed-tensors", "config_groups":
                  {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}})")),
            "3 x int4 in groups of 32 int4 in groups of 32 int4 in groups of 32");
  EXPECT_EQ(by_layer(quantised(R"("quant_method": "compressed-tensors", "config_groups":
                  {"group_0": {"weights": {"num_bits": 8, "type": "int"},
                               "input_activations": {"num_bits": 8, "type": "int"}}})")),
            "3 x int8 int8 int8");
}

TEST(Precision, FourBitFloats) {
  // mxfp4 is for experts: this network has none.
  EXPECT_EQ(by_layer(quantised(R"("quant_method": "mxfp4")")), "3 x bf16 bf16 bf16");
  EXPECT_EQ(by_layer(quantised(R"("quant_method": "modelopt", "quant_algo": "NVFP4")")),
            "3 x nvfp4 nvfp4 nvfp4");
  const auto groups_of = [](const std::string& size) {
    return by_layer(quantised(R"("quant_method": "compressed-tensors", "config_groups": {"group_0":
                       {"weights": {"num_bits": 4, "type": "float", "group_size": )" +
                              size + "}}}"));
  };
  EXPECT_EQ(groups_of("32"), "3 x mxfp4 mxfp4 mxfp4");
  EXPECT_EQ(groups_of("16"), "3 x nvfp4 weights nvfp4 weights nvfp4 weights");
  EXPECT_EQ(by_layer(quantised(R"("quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {
                  "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
                  "model.layers.0.self_attn.o_proj": {"quant_algo": "FP8"},
                  "model.layers.1.mlp.gate_proj": {"quant_algo": "W4A16_NVFP4"},
                  "model.layers.2.mlp.gate_proj": {"quant_algo": "NVFP4"},
                  "mtp.layers.0.mlp.gate_proj": {"quant_algo": "NVFP4"}})")),
            "1 x fp8 fp8 bf16; 1 x bf16 bf16 nvfp4 weights; 1 x bf16 bf16 nvfp4");
}

TEST(Precision, OtherQuantisationsAreRefusedByName) {
  EXPECT_THAT(problems(quantised(R"("quant_method": "bitsandbytes", "load_in_4bit": true)")),
              HasSubstr("quantisation \"bitsandbytes\" is not modelled yet (supported: fp8, mxfp4, "
                        "awq, gptq, compressed-tensors with 4 or 8 bits, modelopt, quark)"));
  EXPECT_THAT(problems(quantised(R"("quant_method": "fp8", "quant_algo": "MIXED_PRECISION")")),
              HasSubstr("\"MIXED_PRECISION\""));
  EXPECT_THAT(problems(quantised(R"("quant_method": "fp8", "fmt": "e5m2")")),
              HasSubstr("the FP8 format \"e5m2\""));
  EXPECT_THAT(problems(quantised(R"("quant_method": "compressed-tensors", "config_groups":
                  {"group_0": {"weights": {"num_bits": 2, "type": "int"}}})")),
              HasSubstr("the scheme of \"group_0\" is not modelled yet"));
  EXPECT_THAT(problems(quantised(R"("quant_algo": "MIXED_PRECISION", "quantized_layers":
                  {"model.layers.0.mlp.gate_proj": {"quant_algo": "INT2"}})")),
              HasSubstr("quantisation \"INT2\" of \"model.layers.0.mlp.gate_proj\""));
}

TEST(Precision, WhatSaysNothingIsRefused) {
  EXPECT_THAT(problems(quantised("")), HasSubstr("quant_method: is missing"));
  EXPECT_THAT(problems(quantised(R"("quant_method": "compressed-tensors")")),
              HasSubstr("config_groups: is missing"));
  EXPECT_THAT(problems(quantised(R"("quant_method": "compressed-tensors", "config_groups": [])")),
              HasSubstr("names no group"));
  EXPECT_THAT(problems(quantised(R"("quant_method": "compressed-tensors", "config_groups": {})")),
              HasSubstr("names no group"));
  EXPECT_NE(problems(quantised(R"("quant_method": 8)")), "accepted");
  // `problems` also sees to it that no message breaks its line.
  EXPECT_NE(problems(quantised(R"("quant_method": "a\nb")")), "accepted");
  EXPECT_NE(problems(quantised(R"("quant_method": "fp8", "fmt": "a\nb")")), "accepted");
  EXPECT_NE(problems(quantised(R"("quant_method": "fp8", "ignore": ["re:a\n("])")), "accepted");
  EXPECT_NE(problems(with(R"("dtype": "a\nb")", kPrecisionConfig)), "accepted");
  EXPECT_NE(problems(with("\"quantization_config\": \"fp8\"", kPrecisionConfig)), "accepted");
}

}  // namespace
}  // namespace ridgeline::model
