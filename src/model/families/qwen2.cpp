#include <vector>

#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// Qwen 2 and 2.5: a bias on query, key and value by construction, none on the output projection.
std::vector<LayerGroup> qwen2_layers(ConfigReader& config, const Dimensions& dimensions) {
  refuse_switched_sliding_window(config, dimensions);
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = true;
  return uniform(dimensions, attention, read_dense_ffn(config));
}

}  // namespace ridgeline::model
