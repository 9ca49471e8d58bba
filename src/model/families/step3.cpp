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
/// Step-3.5 and 3.7 Flash: layers of `layer_types` see a window; the first `first_k_dense_replace`
/// are dense; one shared expert of `share_expert_dim`.
std::vector<LayerGroup> step3_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = true;
  const std::int64_t window = config.required_integer("sliding_window", kPositions);
  MoeFfn moe = read_experts(config, "num_experts");
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.shared_width = config.integer("share_expert_dim", {0, kWidth.highest}).value_or(0);
  moe.router_bias = config.boolean("use_moe_router_bias", false);
  const std::vector<bool> is_moe = sparse_layers(config, dimensions);
  const bool any_dense = std::find(is_moe.begin(), is_moe.end(), false) != is_moe.end();
  const DenseFfn dense = any_dense ? read_dense_ffn(config) : DenseFfn{};
  const std::vector<bool> sliding = sliding_layers(config, dimensions);
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < is_moe.size(); ++i) {
    LayerGroup layer{.count = 1, .attention = attention, .ffn = dense};
    layer.attention.window = sliding[i] ? window : 0;
    if (is_moe[i]) {
      layer.ffn = moe;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
