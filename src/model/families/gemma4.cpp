#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
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

/// Before and after attention and the feed-forward network, and a scale that is one number; where
/// experts stand beside the dense network, one before and one after them, one after the dense one,
/// and the router's.
constexpr std::int64_t kNorms = 4;
constexpr std::int64_t kNormsOfExperts = 4;

}  // namespace

/// Gemma 4: most layers see a window; the global ones have heads of `global_head_dim` and, with
/// `attention_k_eq_v`, one projection for keys and values. With `enable_moe_block` each layer has
/// experts beside its dense network, which is priced as a shared expert. In the small ones (E2B,
/// E4B) each layer has a table of rows of `hidden_size_per_layer_input`, and the last
/// `num_kv_shared_layers` read the cache of the last layer of their kind before them, some with a
/// dense network of twice the width.
std::vector<LayerGroup> gemma4_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec local = read_attention(config, dimensions);
  local.qk_norm = true;
  local.window = config.required_integer("sliding_window", kPositions);
  AttentionSpec global = local;
  global.window = 0;
  global.head_dim = config.integer("global_head_dim", kHeads).value_or(local.head_dim);
  global.kv_heads = config.integer("num_global_key_value_heads", kHeads).value_or(local.kv_heads);
  global.values_are_keys = config.boolean("attention_k_eq_v", false);
  const DenseFfn dense = read_dense_ffn(config);
  LayerGroup layer{.count = 1, .attention = local, .ffn = dense, .norms = kNorms};
  if (config.boolean("enable_moe_block", false)) {
    MoeFfn moe;
    moe.experts = config.required_integer("num_experts", kExperts);
    moe.experts_per_token = config.required_integer("top_k_experts", kExperts);
    moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
    moe.shared_width = dense.width;
    if (moe.experts_per_token > moe.experts) {
      config.problem(
          "top_k_experts",
          fmt::format("{} is more than num_experts {}", moe.experts_per_token, moe.experts));
    }
    layer.ffn = moe;
    layer.norms += kNormsOfExperts;
  }
  layer.row_width = config.integer("hidden_size_per_layer_input", {0, kWidth.highest}).value_or(0);
  layer.norms += layer.row_width > 0 ? 1 : 0;
  const std::optional<std::int64_t> rows = config.integer("vocab_size_per_layer_input", kWidth);
  if (layer.row_width > 0 && rows && rows != config.integer("vocab_size", kWidth)) {
    config.not_modelled("vocab_size_per_layer_input", "a table of other tokens");
  }
  const std::int64_t sharing =
      config.integer("num_kv_shared_layers", {0, dimensions.num_layers}).value_or(0);
  const bool doubles = config.boolean("use_double_wide_mlp", false);
  if (doubles && std::holds_alternative<MoeFfn>(layer.ffn)) {
    config.not_modelled("use_double_wide_mlp", "a wider dense network beside experts");
  }
  std::vector<LayerGroup> layers;
  for (const bool slides : sliding_layers(config, dimensions)) {
    layer.attention = slides ? local : global;
    if (static_cast<std::int64_t>(layers.size()) >= dimensions.num_layers - sharing) {
      layer.attention.earlier_cache = true;
      if (auto* own = std::get_if<DenseFfn>(&layer.ffn); own != nullptr && doubles) {
        own->width = 2 * dense.width;
      }
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
