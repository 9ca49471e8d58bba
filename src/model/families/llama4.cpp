#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "core/reader.hpp"
#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// Every `interleave_moe_layer_step`-th layer is a mixture of experts (or those of `moe_layers`,
/// where the file has them) whose experts and one shared expert are `intermediate_size` wide; the
/// others are dense, of width `intermediate_size_mlp`. The query and key norms of `use_qk_norm`
/// have no weights. The text network alone is described: vLLM loads the vision tower beside it, and
/// its weights belong to what the memory plan adds for a multimodal checkpoint.
std::vector<LayerGroup> llama4_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  const std::optional<std::int64_t> chunk = config.integer("attention_chunk_size", kPositions);
  if (chunk) {
    config.derived("attention",
                   fmt::format("chunked attention is priced as full attention: exact up to "
                               "attention_chunk_size {} tokens of context",
                               *chunk));
  }
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
  return mixed(is_moe, attention, dense, moe);
}

}  // namespace ridgeline::model
