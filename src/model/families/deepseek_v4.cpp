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

/// A scorer chooses among the entries of layers that compress this little (DeepSeek-V4 technical
/// report: compressed sparse attention at 4, heavily compressed attention at 128, read whole).
constexpr std::int64_t kScoredRatio = 4;

}  // namespace

/// DeepSeek V4: `compress_ratios` says of each layer how many tokens share an entry of the
/// compressed cache (0: the layer sees its window alone); it may go on with those of the drafting
/// layers. Every layer has experts; the first `num_hash_layers` choose them by token id, at the
/// same cost.
std::vector<LayerGroup> deepseek_v4_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention;
  attention.heads = config.required_integer("num_attention_heads", kHeads);
  attention.kv_heads = config.integer("num_key_value_heads", {1, 1}).value_or(1);
  attention.head_dim = config.required_integer("head_dim", kHeads);
  CompressedSpec compressed;
  compressed.query_rank = config.required_integer("q_lora_rank", kWidth);
  compressed.window = config.required_integer("sliding_window", kPositions);
  compressed.output_groups = config.required_integer("o_groups", kHeads);
  compressed.output_rank = config.required_integer("o_lora_rank", kWidth);
  if (attention.heads % std::max<std::int64_t>(1, compressed.output_groups) != 0) {
    config.problem("o_groups",
                   fmt::format("{} does not divide num_attention_heads {}",
                               compressed.output_groups,
                               attention.heads));
  }
  const SparseSpec scorer{.selected = config.required_integer("index_topk", kPositions),
                          .heads = config.required_integer("index_n_heads", kHeads),
                          .head_dim = config.required_integer("index_head_dim", kHeads),
                          .query_rank = compressed.query_rank};
  MoeFfn moe = read_experts_with_shared(config, "n_routed_experts");
  moe.router_bias = true;
  const std::vector<std::int64_t> ratios = config.integers("compress_ratios", {0, kHeads.highest});
  if (static_cast<std::int64_t>(ratios.size()) < dimensions.num_layers) {
    config.problem(
        "compress_ratios",
        fmt::format("has {} entries, expected at least {}", ratios.size(), dimensions.num_layers));
    return {};
  }
  std::vector<LayerGroup> layers;
  for (std::int64_t i = 0; i < dimensions.num_layers; ++i) {
    compressed.ratio = ratios[static_cast<std::size_t>(i)];
    attention.compressed = compressed;
    attention.sparse = compressed.ratio == kScoredRatio ? std::optional(scorer) : std::nullopt;
    layers.push_back({.count = 1, .attention = attention, .ffn = moe});
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
