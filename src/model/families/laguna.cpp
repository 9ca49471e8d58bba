#include <cstddef>
#include <cstdint>
#include <vector>

#include "document/document.hpp"
#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

/// `gating`: true and "per-head" are one gate for each head, "per-element" one for each channel.
void read_gate(ConfigReader& config, AttentionSpec& attention) {
  const document::Node* node = config.node("gating");
  const bool in_words = node != nullptr && node->is_string();
  if (in_words && node->as_string() == "per-element") {
    attention.output_gate = true;
  } else if (in_words && node->as_string() != "per-head") {
    config.not_modelled("gating", node->describe());
  } else {
    attention.head_gate = in_words || config.boolean("gating", true);
  }
}

}  // namespace

/// Laguna: layers of `layer_types` see a window; `num_attention_heads_per_layer` query heads; a
/// gate on attention's output; layers of `mlp_layer_types` have experts and a shared one.
std::vector<LayerGroup> laguna_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = true;
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  read_gate(config, attention);
  MoeFfn moe = read_experts(config, "num_experts");
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.shared_width =
      config.integer("shared_expert_intermediate_size", {0, kWidth.highest}).value_or(0);
  moe.router_bias = true;
  const DenseFfn dense = read_dense_ffn(config);
  const std::vector<std::int64_t> heads =
      per_layer(config, "num_attention_heads_per_layer", dimensions.num_layers, kHeads);
  const std::vector<bool> sliding = sliding_layers(config, dimensions);
  std::vector<bool> is_moe(sliding.size(), true);
  if (!is_moe.empty()) {
    is_moe.front() = false;  // Without a list the first layer alone is dense.
  }
  is_moe = listed_sparse_layers(config, dimensions, is_moe);
  const std::int64_t window = config.integer("sliding_window", kPositions).value_or(0);
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < sliding.size(); ++i) {
    LayerGroup layer{.count = 1, .attention = attention, .ffn = moe};
    layer.attention.heads = heads.empty() ? attention.heads : heads[i];
    layer.attention.window = sliding[i] ? window : 0;
    if (!is_moe[i]) {
      layer.ffn = dense;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
