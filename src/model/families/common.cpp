#include "model/families/common.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

void refuse_partial_attention(ConfigReader& config) {
  const document::Node* types = config.node("layer_types");
  if (types == nullptr || !types->is_list()) {
    return;
  }
  for (const document::Node& type : types->items()) {
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

MoeFfn read_experts_with_shared(ConfigReader& config, std::string_view experts_key) {
  MoeFfn moe = read_experts(config, experts_key);
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.shared_width =
      config.integer("n_shared_experts", {0, kExperts.highest}).value_or(0) * moe.expert_width;
  return moe;
}

std::vector<std::int64_t> per_layer(ConfigReader& config,
                                    std::string_view key,
                                    std::int64_t size,
                                    document::Range<std::int64_t> range) {
  std::vector<std::int64_t> values = config.integers(key, range);
  if (!values.empty() && static_cast<std::int64_t>(values.size()) != size) {
    config.problem(key, fmt::format("has {} entries, expected {}", values.size(), size));
    return {};
  }
  return values;
}

std::vector<std::size_t> per_layer_words(ConfigReader& config,
                                         std::string_view key,
                                         std::int64_t size,
                                         std::span<const std::string_view> words,
                                         std::int64_t drafting) {
  const document::Node* list = config.node(key);
  if (list == nullptr || list->is_null()) {
    return {};
  }
  const auto stated =
      list->is_list() ? static_cast<std::int64_t>(list->items().size()) : std::int64_t{0};
  if (!list->is_list() || (stated != size && stated != size + drafting)) {
    config.problem(key,
                   list->is_list() ? fmt::format("has {} entries, expected {}", stated, size)
                                   : fmt::format("{} is not a list", list->describe()));
    return {};
  }
  std::vector<std::size_t> found;
  for (const document::Node& item : list->items()) {
    const auto word =
        item.is_string() ? std::find(words.begin(), words.end(), item.as_string()) : words.end();
    if (word == words.end()) {
      config.not_modelled(key, fmt::format("a layer of type {}", item.describe()));
      return {};
    }
    found.push_back(static_cast<std::size_t>(word - words.begin()));
  }
  found.resize(static_cast<std::size_t>(size));
  return found;
}

std::vector<bool> sliding_layers(ConfigReader& config,
                                 const Dimensions& dimensions,
                                 std::int64_t drafting) {
  static constexpr std::array<std::string_view, 2> kTypes = {"full_attention", "sliding_attention"};
  const std::vector<std::size_t> types =
      per_layer_words(config, "layer_types", dimensions.num_layers, kTypes, drafting);
  std::vector<bool> sliding(static_cast<std::size_t>(dimensions.num_layers), false);
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    sliding[layer] = types[layer] == 1;
  }
  return sliding;
}

std::vector<bool> listed_sparse_layers(ConfigReader& config,
                                       const Dimensions& dimensions,
                                       std::vector<bool> absent) {
  static constexpr std::array<std::string_view, 2> kTypes = {"dense", "sparse"};
  const std::vector<std::size_t> types =
      per_layer_words(config, "mlp_layer_types", dimensions.num_layers, kTypes);
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    absent[layer] = types[layer] == 1;
  }
  return absent;
}

std::vector<LayerGroup> grouped(const std::vector<LayerGroup>& layers) {
  std::vector<LayerGroup> groups;
  for (const LayerGroup& layer : layers) {
    LayerGroup alone = layer;
    if (!groups.empty()) {
      alone.count = groups.back().count;
      if (alone == groups.back()) {
        groups.back().count += layer.count;
        continue;
      }
      alone.count = layer.count;
    }
    groups.push_back(alone);
  }
  return groups;
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
