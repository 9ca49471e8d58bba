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
/// Phi-3 and Phi-4: Llama's layers with fused projections. A window as long as the positions is
/// none.
std::vector<LayerGroup> phi3_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  const std::int64_t window = config.integer("sliding_window", kPositions).value_or(0);
  attention.window = window < dimensions.max_position ? window : 0;
  return uniform(dimensions, attention, read_dense_ffn(config));
}

}  // namespace ridgeline::model
