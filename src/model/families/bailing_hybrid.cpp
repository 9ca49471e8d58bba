#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// Ling 3.0: Kimi delta attention, and latent attention in the last layer of every
/// `layer_group_size`; the first `first_k_dense_replace` layers are dense. (Ling 2.6's linear
/// attention of fixed decay is another, and has no convolution.)
std::vector<LayerGroup> bailing_hybrid_layers(ConfigReader& config, const Dimensions& dimensions) {
  const AttentionSpec latent = read_latent_attention(config);
  const RecurrentSpec delta = kimi_delta(latent.heads,
                                         config.required_integer("head_dim", kHeads),
                                         config.required_integer("short_conv_kernel_size", kHeads));
  const std::int64_t period = config.required_integer("layer_group_size", kLayers);
  MoeFfn moe = read_experts(config, "num_experts");
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.shared_width =
      config.integer("num_shared_experts", {0, kExperts.highest}).value_or(0) * moe.expert_width;
  moe.router_bias = true;
  const std::vector<bool> is_moe = sparse_layers(config, dimensions);
  const bool any_dense = std::find(is_moe.begin(), is_moe.end(), false) != is_moe.end();
  const DenseFfn dense = any_dense ? read_dense_ffn(config) : DenseFfn{};
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < is_moe.size(); ++i) {
    LayerGroup layer{.count = 1, .attention = latent, .ffn = dense};
    if (period == 0 || (i + 1) % static_cast<std::size_t>(period) != 0) {
      layer.attention = AttentionSpec{};
      layer.recurrent = delta;
    }
    if (is_moe[i]) {
      layer.ffn = moe;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
