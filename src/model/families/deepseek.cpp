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

/// DeepSeek-V3.2's indexer, where the file has one (`index_topk`).
std::optional<SparseSpec> read_indexer(ConfigReader& config, const LatentSpec& latent) {
  const std::optional<std::int64_t> selected = config.integer("index_topk", kPositions);
  if (!selected) {
    return std::nullopt;
  }
  return SparseSpec{.selected = *selected,
                    .heads = config.required_integer("index_n_heads", kHeads),
                    .head_dim = config.required_integer("index_head_dim", kHeads),
                    .query_rank = latent.query_rank};
}

}  // namespace

AttentionSpec read_latent_attention(ConfigReader& config) {
  AttentionSpec attention;
  attention.heads = config.required_integer("num_attention_heads", kHeads);
  attention.kv_heads = attention.heads;
  LatentSpec latent;
  latent.query_rank = config.integer("q_lora_rank", kWidth).value_or(0);
  latent.kv_rank = config.required_integer("kv_lora_rank", kWidth);
  latent.rope_dim = config.required_integer("qk_rope_head_dim", {0, kHeads.highest});
  latent.nope_dim = config.required_integer("qk_nope_head_dim", kHeads);
  latent.value_dim = config.required_integer("v_head_dim", kHeads);
  attention.head_dim = latent.nope_dim + latent.rope_dim;
  attention.value_dim = latent.value_dim;
  attention.latent = latent;
  attention.sparse = read_indexer(config, latent);
  if (config.boolean("attention_bias", false)) {
    config.not_modelled("attention_bias", "a bias in latent attention");
  }
  return attention;
}

std::vector<bool> sparse_layers(ConfigReader& config, const Dimensions& dimensions) {
  const std::int64_t first =
      config.integer("first_k_dense_replace", {0, kLayers.highest}).value_or(0);
  const std::int64_t step = config.integer("moe_layer_freq", kLayers).value_or(1);
  std::vector<bool> is_moe(static_cast<std::size_t>(dimensions.num_layers));
  for (std::size_t layer = 0; layer < is_moe.size(); ++layer) {
    const auto index = static_cast<std::int64_t>(layer);
    is_moe[layer] = index >= first && index % step == 0;
  }
  return is_moe;
}

/// DeepSeek V2, V3, R1 and V3.2, Kimi K2: latent attention; the first `first_k_dense_replace`
/// layers are dense, of `intermediate_size`; of the others every `moe_layer_freq`-th has experts.
std::vector<LayerGroup> deepseek_layers(ConfigReader& config, const Dimensions& dimensions) {
  const AttentionSpec attention = read_latent_attention(config);
  MoeFfn moe = read_experts_with_shared(config, "n_routed_experts");
  // The bias that balances experts without a loss (DeepSeek-V3, section 2.1.2).
  const std::optional<std::string> method = config.string("topk_method");
  moe.router_bias = method == "noaux_tc";
  const std::vector<bool> is_moe = sparse_layers(config, dimensions);
  const bool any_dense = std::find(is_moe.begin(), is_moe.end(), false) != is_moe.end();
  return mixed(is_moe, attention, any_dense ? read_dense_ffn(config) : DenseFfn{}, moe);
}

}  // namespace ridgeline::model
