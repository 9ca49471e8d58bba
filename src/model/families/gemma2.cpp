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
namespace {

/// Before and after attention, before and after the feed-forward network.
constexpr std::int64_t kGemmaNorms = 4;

std::vector<LayerGroup> alternating(const std::vector<bool>& sliding,
                                    AttentionSpec attention,
                                    const DenseFfn& ffn,
                                    std::int64_t window) {
  std::vector<LayerGroup> layers;
  for (const bool slides : sliding) {
    attention.window = slides ? window : 0;
    layers.push_back({.count = 1, .attention = attention, .ffn = ffn, .norms = kGemmaNorms});
  }
  return grouped(layers);
}

}  // namespace

/// Gemma 2: every second layer, from the first, sees a window.
std::vector<LayerGroup> gemma2_layers(ConfigReader& config, const Dimensions& dimensions) {
  const AttentionSpec attention = read_attention(config, dimensions);
  const std::int64_t window = config.required_integer("sliding_window", kPositions);
  std::vector<bool> sliding = sliding_layers(config, dimensions);
  for (std::size_t layer = 0; layer < sliding.size() && !config.states("layer_types"); ++layer) {
    sliding[layer] = layer % 2 == 0;
  }
  return alternating(sliding, attention, read_dense_ffn(config), window);
}

/// Gemma 3: all layers but every `sliding_window_pattern`-th (6 by default) see a window; norms on
/// queries and keys.
std::vector<LayerGroup> gemma3_layers(ConfigReader& config, const Dimensions& dimensions) {
  constexpr std::int64_t kDefaultPattern = 6;
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = true;
  const std::int64_t window = config.required_integer("sliding_window", kPositions);
  const std::int64_t pattern =
      config.integer("sliding_window_pattern", kLayers).value_or(kDefaultPattern);
  std::vector<bool> sliding = sliding_layers(config, dimensions);
  for (std::size_t layer = 0; layer < sliding.size() && !config.states("layer_types"); ++layer) {
    sliding[layer] = (layer + 1) % static_cast<std::size_t>(pattern) != 0;
  }
  return alternating(sliding, attention, read_dense_ffn(config), window);
}

}  // namespace ridgeline::model
