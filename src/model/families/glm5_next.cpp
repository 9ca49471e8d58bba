#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

/// "indexed_attention" is what transformers writes for "deepseek_sparse_attention".
constexpr std::array<std::string_view, 3> kAttentionTypes = {
    "linear_attention", "deepseek_sparse_attention", "indexed_attention"};

RecurrentSpec read_factored_delta(ConfigReader& config) {
  const document::Node* node = config.node("linear_attn_config");
  if (node == nullptr || !node->is_map()) {
    config.problem("linear_attn_config", "is missing, expected a map");
    return {};
  }
  document::ObjectReader reader(*node,
                                config.path_of("linear_attn_config"),
                                config.errors(),
                                document::ObjectReader::Unknown::kIgnore);
  const std::int64_t width = reader.required_integer("head_dim", kHeads);
  RecurrentSpec delta = kimi_delta(reader.required_integer("num_heads", kHeads),
                                   width,
                                   reader.required_integer("short_conv_kernel_size", kHeads));
  delta.gate_rank = width;
  delta.decay_rank = width;
  return delta;
}

}  // namespace

/// GLM-5.3-Flash: Kimi delta attention, and in the other layers of `layer_types` GLM-5's sparse
/// latent attention, whose scorer has one key for `index_kpool` tokens.
std::vector<LayerGroup> glm5_next_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec latent = read_latent_attention(config);
  if (latent.sparse && config.boolean("index_kpool_compress", false)) {
    latent.sparse->pool = config.required_integer("index_kpool", kHeads);
  }
  const RecurrentSpec delta = read_factored_delta(config);
  MoeFfn moe = read_experts_with_shared(config, "n_routed_experts");
  moe.router_bias = true;
  const DenseFfn dense = read_dense_ffn(config);
  const std::vector<std::size_t> mixers =
      per_layer_words(config, "layer_types", dimensions.num_layers, kAttentionTypes);
  const std::vector<bool> is_moe =
      listed_sparse_layers(config, dimensions, sparse_layers(config, dimensions));
  if (mixers.empty()) {
    config.problem("layer_types", "is missing, expected a list of layers");
    return {};
  }
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < mixers.size(); ++i) {
    LayerGroup layer{.count = 1, .attention = latent, .ffn = moe};
    if (mixers[i] == 0) {
      layer.attention = AttentionSpec{};
      layer.recurrent = delta;
    }
    if (!is_moe[i]) {
      layer.ffn = dense;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
