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
/// MiMo-V2-Flash: layers that `hybrid_layer_pattern` marks with 1 see a window and have KV heads
/// and head sizes of their own (`swa_*`); `moe_layer_freq` says layer by layer where experts are.
std::vector<LayerGroup> mimo_v2_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec full = read_attention(config, dimensions);
  full.value_dim = config.integer("v_head_dim", kHeads).value_or(0);
  full.qkv_bias = config.boolean("attention_bias", false);
  full.sinks = config.boolean("add_full_attention_sink_bias", false);
  AttentionSpec local = full;
  local.heads = config.integer("swa_num_attention_heads", kHeads).value_or(full.heads);
  local.kv_heads = config.integer("swa_num_key_value_heads", kHeads).value_or(full.kv_heads);
  local.head_dim = config.integer("swa_head_dim", kHeads).value_or(full.head_dim);
  local.value_dim = config.integer("swa_v_head_dim", kHeads).value_or(full.value_dim);
  local.sinks = config.boolean("add_swa_attention_sink_bias", true);
  local.window = config.required_integer("sliding_window", kPositions);
  MoeFfn moe = read_experts_with_shared(config, "n_routed_experts");
  moe.router_bias = true;
  const DenseFfn dense = read_dense_ffn(config);
  const std::vector<std::int64_t> windows =
      per_layer(config, "hybrid_layer_pattern", dimensions.num_layers, {0, 1});
  const std::vector<std::int64_t> experts =
      per_layer(config, "moe_layer_freq", dimensions.num_layers, {0, 1});
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions.num_layers); ++i) {
    LayerGroup layer{.count = 1, .attention = full, .ffn = moe};
    if (!windows.empty() && windows[i] == 1) {
      layer.attention = local;
    }
    if (!experts.empty() && experts[i] == 0) {
      layer.ffn = dense;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
