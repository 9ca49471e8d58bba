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
/// gpt-oss: every second layer sees a window; a learnt logit per head; experts with biases.
std::vector<LayerGroup> gpt_oss_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = config.boolean("attention_bias", true);
  attention.output_bias = attention.qkv_bias;
  attention.sinks = true;
  MoeFfn moe = read_experts(config, "num_local_experts");
  moe.expert_width = config.required_integer("intermediate_size", kWidth);
  moe.bias = true;
  moe.router_bias = true;
  const std::int64_t window = config.integer("sliding_window", kPositions).value_or(0);
  const std::vector<bool> sliding = sliding_layers(config, dimensions);
  std::vector<LayerGroup> layers;
  for (const bool slides : sliding) {
    attention.window = slides ? window : 0;
    layers.push_back({.count = 1, .attention = attention, .ffn = moe});
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
