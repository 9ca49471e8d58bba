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
/// MiniMax-M2: experts of `intermediate_size` in every layer; norms over all heads of queries and
/// keys together ("per_layer").
std::vector<LayerGroup> minimax_m2_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = config.boolean("use_qk_norm", true);
  attention.qk_norm_across_heads =
      config.string("qk_norm_type").value_or("per_layer") == "per_layer";
  MoeFfn moe = read_experts(config, "num_local_experts");
  moe.expert_width = config.required_integer("intermediate_size", kWidth);
  moe.shared_width = config.integer("shared_intermediate_size", {0, kWidth.highest}).value_or(0);
  moe.router_bias = config.boolean("use_routing_bias", true);
  moe.router_fp32 = true;  // vLLM: params_dtype of the gate in models/minimax_m2.py
  return uniform(dimensions, attention, moe);
}

namespace {

/// `sparse_attention_config`: a scorer over blocks of tokens.
std::optional<SparseSpec> read_block_scorer(ConfigReader& config) {
  const document::Node* node = config.node("sparse_attention_config");
  if (node == nullptr || node->is_null()) {
    return std::nullopt;
  }
  document::ObjectReader reader(*node,
                                config.path_of("sparse_attention_config"),
                                config.errors(),
                                document::ObjectReader::Unknown::kIgnore);
  if (!reader.boolean("use_sparse_attention").value_or(true)) {
    return std::nullopt;
  }
  SparseSpec sparse;
  sparse.selected = reader.required_integer("sparse_topk_blocks", {1, kWidth.highest}) *
                    reader.required_integer("sparse_block_size", {1, kWidth.highest});
  sparse.heads = reader.required_integer("sparse_num_index_heads", kHeads);
  sparse.head_dim = reader.required_integer("sparse_index_dim", kHeads);
  return sparse;
}

std::vector<std::int64_t> sparse_attention_layers(ConfigReader& config,
                                                  const Dimensions& dimensions) {
  const document::Node* node = config.node("sparse_attention_config");
  if (node == nullptr || !node->is_map()) {
    return {};
  }
  document::ObjectReader reader(*node,
                                config.path_of("sparse_attention_config"),
                                config.errors(),
                                document::ObjectReader::Unknown::kIgnore);
  const auto layers = reader.integers("sparse_attention_freq", {0, 1});
  if (layers && static_cast<std::int64_t>(layers->size()) != dimensions.num_layers) {
    reader.problem(
        "sparse_attention_freq",
        fmt::format("has {} entries, expected {}", layers->size(), dimensions.num_layers));
    return {};
  }
  return layers.value_or(std::vector<std::int64_t>{});
}

}  // namespace

/// MiniMax-M3: a scorer with one key per token chooses blocks of tokens in the layers of
/// `sparse_attention_freq`; `moe_layer_freq` says layer by layer where experts are, the others are
/// dense, of `dense_intermediate_size`.
std::vector<LayerGroup> minimax_m3_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = config.boolean("use_qk_norm", true);
  attention.output_gate = config.boolean("attention_output_gate", false);
  const std::optional<SparseSpec> sparse = read_block_scorer(config);
  const std::vector<std::int64_t> scored = sparse_attention_layers(config, dimensions);
  MoeFfn moe = read_experts(config, "num_local_experts");
  moe.expert_width = config.required_integer("intermediate_size", kWidth);
  moe.shared_width = config.integer("shared_intermediate_size", {0, kWidth.highest}).value_or(0);
  moe.router_bias = config.boolean("use_routing_bias", true);
  const std::vector<std::int64_t> experts =
      per_layer(config, "moe_layer_freq", dimensions.num_layers, {0, 1});
  const bool any_dense = std::find(experts.begin(), experts.end(), 0) != experts.end();
  const DenseFfn dense{
      .width = any_dense ? config.required_integer("dense_intermediate_size", kWidth) : 0};
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions.num_layers); ++i) {
    LayerGroup layer{.count = 1, .attention = attention, .ffn = moe};
    if (scored.empty() || scored[i] == 1) {
      layer.attention.sparse = sparse;
    }
    if (!experts.empty() && experts[i] == 0) {
      layer.ffn = dense;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
