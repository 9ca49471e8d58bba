#include <cstdint>
#include <vector>

#include <fmt/core.h>

#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

namespace {

/// Default of MistralConfig in transformers, for a file that leaves `sliding_window` out.
constexpr std::int64_t kDefaultWindow = 4096;

std::vector<LayerGroup> windowed(ConfigReader& config,
                                 const Dimensions& dimensions,
                                 std::int64_t absent) {
  AttentionSpec attention = read_attention(config, dimensions);
  const bool stated = config.states("sliding_window");
  const std::int64_t window =
      config.integer("sliding_window", kPositions).value_or(stated ? 0 : absent);
  attention.window = window < dimensions.max_position ? window : 0;
  if (!stated) {
    config.derived("sliding_window", fmt::format("default of the family: {}", absent));
  }
  return uniform(dimensions, attention, read_dense_ffn(config));
}

}  // namespace

/// Mistral 7B and Nemo: `sliding_window` in every layer, where it is shorter than the positions.
std::vector<LayerGroup> mistral_layers(ConfigReader& config, const Dimensions& dimensions) {
  return windowed(config, dimensions, kDefaultWindow);
}

/// Mistral Small 3.1, Medium 3.5 and Ministral 3: the same layers, without a window where the file
/// states none.
std::vector<LayerGroup> mistral3_layers(ConfigReader& config, const Dimensions& dimensions) {
  return windowed(config, dimensions, 0);
}

}  // namespace ridgeline::model
