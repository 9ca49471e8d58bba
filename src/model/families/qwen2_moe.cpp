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
/// Qwen 1.5 and 2 with experts: a shared expert behind a gate, and a bias on query, key and value.
std::vector<LayerGroup> qwen2_moe_layers(ConfigReader& config, const Dimensions& dimensions) {
  refuse_switched_sliding_window(config, dimensions);
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = config.boolean("qkv_bias", true);
  MoeFfn moe = read_experts(config, "num_experts");
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.shared_width = config.required_integer("shared_expert_intermediate_size", kWidth);
  moe.shared_gate = true;
  if (config.integer("decoder_sparse_step", kLayers).value_or(1) != 1 ||
      !config.integers("mlp_only_layers", {0, kLayers.highest}).empty()) {
    config.not_modelled("decoder_sparse_step", "dense layers among qwen2_moe's");
  }
  return uniform(dimensions, attention, moe);
}

}  // namespace ridgeline::model
