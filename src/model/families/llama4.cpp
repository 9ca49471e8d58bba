#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

/// Layers with rotary positions attend in chunks; those without, every `no_rope_layer_interval`-th
/// or the zeros of `no_rope_layers`, attend to everything.
std::vector<bool> chunked_layers(ConfigReader& config, const Dimensions& dimensions) {
  constexpr std::int64_t kDefaultInterval = 4;  // of Llama4TextConfig in transformers
  const std::vector<std::int64_t> listed =
      per_layer(config, "no_rope_layers", dimensions.num_layers, {0, 1});
  const auto interval = static_cast<std::size_t>(
      config.integer("no_rope_layer_interval", kLayers).value_or(kDefaultInterval));
  std::vector<bool> chunked(static_cast<std::size_t>(dimensions.num_layers));
  for (std::size_t layer = 0; layer < chunked.size(); ++layer) {
    chunked[layer] = listed.empty() ? (layer + 1) % interval != 0 : listed[layer] == 1;
  }
  return chunked;
}

}  // namespace

/// Every `interleave_moe_layer_step`-th layer is a mixture of experts (or those of `moe_layers`,
/// where the file has them) whose experts and one shared expert are `intermediate_size` wide; the
/// others are dense, of width `intermediate_size_mlp`. The query and key norms of `use_qk_norm`
/// have no weights.
std::vector<LayerGroup> llama4_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  MoeFfn moe = read_experts(config, "num_local_experts");
  moe.expert_width = config.required_integer("intermediate_size", kWidth);
  moe.shared_width = moe.expert_width;

  const std::int64_t step = config.integer("interleave_moe_layer_step", kLayers).value_or(1);
  const std::vector<std::int64_t> listed =
      config.integers("moe_layers", {0, dimensions.num_layers - 1});
  std::vector<bool> is_moe(static_cast<std::size_t>(dimensions.num_layers));
  for (std::size_t layer = 0; layer < is_moe.size() && listed.empty(); ++layer) {
    is_moe[layer] = (layer + 1) % static_cast<std::size_t>(step) == 0;
  }
  for (const std::int64_t layer : listed) {
    is_moe[static_cast<std::size_t>(layer)] = true;
  }
  DenseFfn dense;
  if (std::find(is_moe.begin(), is_moe.end(), false) != is_moe.end()) {
    dense.width = config.required_integer("intermediate_size_mlp", kWidth);
  }
  const std::vector<bool> in_chunks = chunked_layers(config, dimensions);
  const std::int64_t chunk =
      config.integer("attention_chunk_size", kPositions).value_or(dimensions.max_position);
  std::vector<LayerGroup> layers;
  for (std::size_t layer = 0; layer < is_moe.size(); ++layer) {
    LayerGroup group{.count = 1, .attention = attention, .ffn = dense};
    group.attention.chunked = in_chunks[layer] && chunk < dimensions.max_position;
    group.attention.window = group.attention.chunked ? chunk : 0;
    if (is_moe[layer]) {
      group.ffn = moe;
    }
    layers.push_back(group);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
