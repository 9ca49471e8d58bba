#include <vector>

#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

std::vector<LayerGroup> qwen3_layers(ConfigReader& config, const Dimensions& dimensions) {
  refuse_switched_sliding_window(config, dimensions);
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = true;
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  return uniform(dimensions, attention, read_dense_ffn(config));
}

}  // namespace ridgeline::model
