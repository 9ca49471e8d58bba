#include <cstddef>
#include <cstdint>
#include <vector>

#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// Layer i (from 0) is a mixture of experts when i + 1 is a multiple of `decoder_sparse_step` and i
/// is not among `mlp_only_layers`; the others are dense, of width `intermediate_size`.
std::vector<LayerGroup> qwen3_moe_layers(ConfigReader& config, const Dimensions& dimensions) {
  refuse_switched_sliding_window(config, dimensions);
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = true;
  attention.qkv_bias = config.boolean("attention_bias", false);
  attention.output_bias = attention.qkv_bias;
  MoeFfn moe = read_experts(config, "num_experts");
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  if (config.integer("shared_expert_intermediate_size", {0, kWidth.highest}).value_or(0) > 0) {
    config.not_modelled("shared_expert_intermediate_size", "a shared expert in qwen3_moe");
  }

  const std::int64_t step = config.integer("decoder_sparse_step", kLayers).value_or(1);
  std::vector<bool> is_moe(static_cast<std::size_t>(dimensions.num_layers));
  for (std::size_t layer = 0; layer < is_moe.size(); ++layer) {
    is_moe[layer] = (layer + 1) % static_cast<std::size_t>(step) == 0;
  }
  const document::Range<std::int64_t> layers{0, dimensions.num_layers - 1};
  bool any_dense = step > 1;
  for (const std::int64_t layer : config.integers("mlp_only_layers", layers)) {
    is_moe[static_cast<std::size_t>(layer)] = false;
    any_dense = true;
  }
  const DenseFfn dense = any_dense ? read_dense_ffn(config) : DenseFfn{};
  return mixed(is_moe, attention, dense, moe);
}

}  // namespace ridgeline::model
