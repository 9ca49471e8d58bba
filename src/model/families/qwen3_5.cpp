#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

constexpr std::array<std::string_view, 2> kTypes = {"linear_attention", "full_attention"};

RecurrentSpec read_delta_net(ConfigReader& config) {
  RecurrentSpec delta{.kind = RecurrentSpec::Kind::kGatedDeltaNet};
  delta.heads = config.required_integer("linear_num_value_heads", kHeads);
  delta.key_heads = config.required_integer("linear_num_key_heads", kHeads);
  delta.key_dim = config.required_integer("linear_key_head_dim", kHeads);
  delta.value_dim = config.required_integer("linear_value_head_dim", kHeads);
  delta.conv_kernel = config.required_integer("linear_conv_kernel_dim", kHeads);
  // Where the file does not say, vLLM keeps the state in the network's own format.
  delta.state = config.string("mamba_ssm_dtype") == "float32" ? DType::kFp32 : DType::kBf16;
  return delta;
}

}  // namespace

/// Qwen3-Next, Qwen3.5 and 3.6: gated delta nets, and every `full_attention_interval`-th layer (or
/// those of `layer_types`) gated attention; with `num_experts`, experts and a gated shared one.
std::vector<LayerGroup> qwen3_5_layers(ConfigReader& config, const Dimensions& dimensions) {
  constexpr std::int64_t kDefaultInterval = 4;
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = true;
  attention.output_gate = config.boolean("attn_output_gate", true);
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  LayerGroup layer{.count = 1, .attention = {}, .ffn = DenseFfn{}};
  if (config.integer("num_experts", {0, kExperts.highest}).value_or(0) > 0) {
    MoeFfn moe = read_experts(config, "num_experts");
    moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
    moe.shared_width =
        config.integer("shared_expert_intermediate_size", {0, kWidth.highest}).value_or(0);
    moe.shared_gate = moe.shared_width > 0;
    layer.ffn = moe;
  } else {
    layer.ffn = read_dense_ffn(config);
  }
  const RecurrentSpec delta = read_delta_net(config);
  const std::int64_t interval =
      config.integer("full_attention_interval", kLayers).value_or(kDefaultInterval);
  const std::vector<std::size_t> types =
      per_layer_words(config, "layer_types", dimensions.num_layers, kTypes);
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions.num_layers); ++i) {
    const bool attends =
        types.empty() ? (i + 1) % static_cast<std::size_t>(interval) == 0 : types[i] == 1;
    layer.attention = attends ? attention : AttentionSpec{};
    layer.recurrent = attends ? std::nullopt : std::optional(delta);
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
