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

constexpr std::array<std::string_view, 2> kIndexers = {"full", "shared"};

}  // namespace

/// GLM-5: DeepSeek-V3.2's layers. `indexer_types` names layers that take over the choice of an
/// earlier layer's indexer, and have none; `mlp_layer_types` may say which layers are dense.
std::vector<LayerGroup> glm_moe_dsa_layers(ConfigReader& config, const Dimensions& dimensions) {
  const AttentionSpec attention = read_latent_attention(config);
  MoeFfn moe = read_experts_with_shared(config, "n_routed_experts");
  moe.router_bias = true;
  const std::vector<std::size_t> indexers =
      per_layer_words(config, "indexer_types", dimensions.num_layers, kIndexers);
  const std::vector<bool> is_moe =
      listed_sparse_layers(config, dimensions, sparse_layers(config, dimensions));
  DenseFfn dense;
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < is_moe.size(); ++i) {
    LayerGroup layer{.count = 1, .attention = attention, .ffn = moe};
    if (layer.attention.sparse && !indexers.empty()) {
      layer.attention.sparse->own_scores = indexers[i] == 0;
    }
    if (!is_moe[i]) {
      dense = dense.width > 0 ? dense : read_dense_ffn(config);
      layer.ffn = dense;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
