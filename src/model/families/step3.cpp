#include <algorithm>
#include <charconv>
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

namespace ridgeline::model {
namespace {

/// `attention_other_setting`: what layers with a window have of their own.
AttentionSpec read_local_attention(ConfigReader& config, AttentionSpec attention) {
  attention.window = config.required_integer("sliding_window", kPositions);
  const document::Node* node = config.node("attention_other_setting");
  if (node == nullptr || !node->is_map()) {
    return attention;
  }
  document::ObjectReader reader(*node,
                                config.path_of("attention_other_setting"),
                                config.errors(),
                                document::ObjectReader::Unknown::kIgnore);
  attention.heads = reader.integer("num_attention_heads", kHeads).value_or(attention.heads);
  attention.kv_heads = reader.integer("num_attention_groups", kHeads).value_or(attention.kv_heads);
  attention.head_dim = reader.integer("head_dim", kHeads).value_or(attention.head_dim);
  if (attention.heads % attention.kv_heads != 0) {
    reader.problem(
        "num_attention_groups",
        fmt::format(
            "{} does not divide num_attention_heads {}", attention.kv_heads, attention.heads));
  }
  return attention;
}

/// Experts by Step 3.5's names of the keys, or by the usual ones.
MoeFfn read_step_experts(ConfigReader& config) {
  MoeFfn moe;
  if (config.states("moe_num_experts")) {
    moe.experts = config.required_integer("moe_num_experts", kExperts);
    moe.experts_per_token = config.required_integer("moe_top_k", kExperts);
    if (moe.experts_per_token > moe.experts) {
      config.problem(
          "moe_top_k",
          fmt::format("{} is more than moe_num_experts {}", moe.experts_per_token, moe.experts));
    }
  } else {
    moe = read_experts(config, "num_experts");
  }
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.shared_width = config.integer("share_expert_dim", {0, kWidth.highest}).value_or(0);
  moe.router_bias = config.boolean("use_moe_router_bias", false);
  return moe;
}

/// Layers with experts: `moe_layers_enum`, "3,4,5", or those after `first_k_dense_replace`.
std::vector<bool> expert_layers(ConfigReader& config, const Dimensions& dimensions) {
  const std::optional<std::string> listed = config.string("moe_layers_enum");
  if (!listed) {
    return sparse_layers(config, dimensions);
  }
  std::vector<bool> is_moe(static_cast<std::size_t>(dimensions.num_layers), false);
  const char* at = listed->data();
  const char* const end = at + listed->size();
  while (at != end) {
    std::size_t layer = 0;
    const auto [after, error] = std::from_chars(at, end, layer);
    if (error != std::errc{} || (after != end && *after != ',')) {
      config.problem("moe_layers_enum", "is not a list of layers, \"3,4,5\"");
      return is_moe;
    }
    if (layer < is_moe.size()) {  // Others are drafting layers.
      is_moe[layer] = true;
    }
    at = after == end ? end : after + 1;
  }
  return is_moe;
}

}  // namespace

/// Step 3.5 and 3.7 Flash: layers of `layer_types` see a window, with heads of their own; every
/// head's output may have a gate; the first layers are dense; one shared expert of
/// `share_expert_dim`.
std::vector<LayerGroup> step3_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec full = read_attention(config, dimensions);
  if (const auto groups = config.integer("num_attention_groups", kHeads)) {
    full.kv_heads = *groups;
    if (full.heads % full.kv_heads != 0) {
      config.problem(
          "num_attention_groups",
          fmt::format("{} does not divide num_attention_heads {}", full.kv_heads, full.heads));
    }
  }
  full.qk_norm = config.boolean("use_qk_norm", true);
  full.head_gate = config.boolean("use_head_wise_attn_gate", false);
  const AttentionSpec local = read_local_attention(config, full);
  const MoeFfn moe = read_step_experts(config);
  const std::vector<bool> is_moe = expert_layers(config, dimensions);
  const bool any_dense = std::find(is_moe.begin(), is_moe.end(), false) != is_moe.end();
  const DenseFfn dense = any_dense ? read_dense_ffn(config) : DenseFfn{};
  const std::int64_t drafting =
      config.integer("num_nextn_predict_layers", {0, kLayers.highest}).value_or(0);
  const std::vector<bool> sliding = sliding_layers(config, dimensions, drafting);
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < is_moe.size(); ++i) {
    LayerGroup layer{.count = 1, .attention = sliding[i] ? local : full, .ffn = dense};
    if (is_moe[i]) {
      layer.ffn = moe;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
