#include "model/families/common.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "core/document.hpp"
#include "model/config_reader.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

void refuse_partial_attention(ConfigReader& config) {
  const core::Node* types = config.node("layer_types");
  if (types == nullptr || !types->is_list()) {
    return;
  }
  for (const core::Node& type : types->items()) {
    if (!type.is_string() || type.as_string() != "full_attention") {
      config.not_modelled("layer_types", fmt::format("a layer of type {}", type.describe()));
      return;
    }
  }
}

}  // namespace

AttentionSpec read_attention(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention;
  attention.heads = config.required_integer("num_attention_heads", kHeads);
  const std::optional<std::int64_t> kv_heads = config.integer("num_key_value_heads", kHeads);
  if (!config.states("num_key_value_heads")) {
    config.derived("num_key_value_heads", "default: num_attention_heads");
  }
  attention.kv_heads = kv_heads.value_or(attention.heads);
  const std::optional<std::int64_t> head_dim = config.integer("head_dim", kHeads);
  if (attention.heads == 0) {
    return attention;  // already noted
  }
  if (attention.heads % attention.kv_heads != 0) {
    config.problem(
        "num_key_value_heads",
        fmt::format(
            "{} does not divide num_attention_heads {}", attention.kv_heads, attention.heads));
  }
  if (!head_dim && dimensions.hidden_size % attention.heads != 0) {
    config.problem("head_dim",
                   fmt::format("is missing, and num_attention_heads {} does not divide "
                               "hidden_size {}",
                               attention.heads,
                               dimensions.hidden_size));
  }
  if (!head_dim) {
    config.derived("head_dim", "default: hidden_size / num_attention_heads");
  }
  attention.head_dim = head_dim.value_or(dimensions.hidden_size / attention.heads);
  return attention;
}

DenseFfn read_dense_ffn(ConfigReader& config) {
  return {.width = config.required_integer("intermediate_size", kWidth)};
}

MoeFfn read_experts(ConfigReader& config, std::string_view experts_key) {
  MoeFfn moe;
  moe.experts = config.required_integer(experts_key, kExperts);
  moe.experts_per_token = config.required_integer("num_experts_per_tok", kExperts);
  if (moe.experts_per_token > moe.experts) {
    config.problem(
        "num_experts_per_tok",
        fmt::format("{} is more than {} {}", moe.experts_per_token, experts_key, moe.experts));
  }
  return moe;
}

void refuse_sliding_window(ConfigReader& config,
                           const Dimensions& dimensions,
                           std::int64_t absent) {
  refuse_partial_attention(config);
  const bool stated = config.states("sliding_window");
  const std::int64_t window =
      config.integer("sliding_window", kPositions).value_or(stated ? 0 : absent);
  if (window > 0 && window < dimensions.max_position) {
    config.not_modelled("sliding_window",
                        fmt::format("sliding-window attention (sliding_window {}{})",
                                    window,
                                    stated ? "" : ", the family's default"));
  }
}

void refuse_switched_sliding_window(ConfigReader& config, const Dimensions& dimensions) {
  refuse_partial_attention(config);
  // Asked for in any case, so that the command line may set either.
  const std::optional<std::int64_t> window = config.integer("sliding_window", kPositions);
  if (config.boolean("use_sliding_window", false) &&
      window.value_or(dimensions.max_position) < dimensions.max_position) {
    config.not_modelled("use_sliding_window",
                        fmt::format("sliding-window attention (sliding_window {})", *window));
  }
}

std::vector<LayerGroup> uniform(const Dimensions& dimensions,
                                const AttentionSpec& attention,
                                const std::variant<DenseFfn, MoeFfn>& ffn) {
  return {LayerGroup{.count = dimensions.num_layers, .attention = attention, .ffn = ffn}};
}

std::vector<LayerGroup> mixed(const std::vector<bool>& is_moe,
                              const AttentionSpec& attention,
                              const DenseFfn& dense,
                              const MoeFfn& moe) {
  std::vector<LayerGroup> groups;
  for (std::size_t layer = 0; layer < is_moe.size(); ++layer) {
    if (layer > 0 && is_moe[layer] == is_moe[layer - 1]) {
      ++groups.back().count;
      continue;
    }
    LayerGroup group{.count = 1, .attention = attention, .ffn = dense};
    if (is_moe[layer]) {
      group.ffn = moe;
    }
    groups.push_back(group);
  }
  return groups;
}

}  // namespace ridgeline::model
