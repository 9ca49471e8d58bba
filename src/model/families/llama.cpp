#include <vector>

#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// Llama 2 and 3, CodeLlama, Yi. In transformers `attention_bias` adds a bias to all four
/// projections.
std::vector<LayerGroup> llama_layers(ConfigReader& config, const Dimensions& dimensions) {
  refuse_sliding_window(config, dimensions, 0);
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  if (config.boolean("mlp_bias", false)) {
    config.not_modelled("mlp_bias", "a bias in the feed-forward network");
  }
  return uniform(dimensions, attention, read_dense_ffn(config));
}

}  // namespace ridgeline::model
