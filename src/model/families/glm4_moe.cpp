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
/// GLM-4.5 and 4.6: grouped-query attention with a bias on queries, keys and values, and DeepSeek's
/// arrangement of experts.
std::vector<LayerGroup> glm4_moe_layers(ConfigReader& config, const Dimensions& dimensions) {
  refuse_sliding_window(config, dimensions, 0);
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.qk_norm = config.boolean("use_qk_norm", false);
  MoeFfn moe = read_experts_with_shared(config, "n_routed_experts");
  moe.router_bias = true;
  moe.router_fp32 = true;  // vLLM: the gate's dtype in models/glm4_moe.py
  const std::vector<bool> is_moe = sparse_layers(config, dimensions);
  const bool any_dense = std::find(is_moe.begin(), is_moe.end(), false) != is_moe.end();
  return mixed(is_moe, attention, any_dense ? read_dense_ffn(config) : DenseFfn{}, moe);
}

}  // namespace ridgeline::model
