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
/// Granite 3: Llama's layers.
std::vector<LayerGroup> granite_layers(ConfigReader& config, const Dimensions& dimensions) {
  return llama_layers(config, dimensions);
}

/// Granite 3 MoE: the same with experts of `intermediate_size` in every layer.
std::vector<LayerGroup> granite_moe_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  MoeFfn moe = read_experts(config, "num_local_experts");
  moe.expert_width = config.required_integer("intermediate_size", kWidth);
  return uniform(dimensions, attention, moe);
}

}  // namespace ridgeline::model
