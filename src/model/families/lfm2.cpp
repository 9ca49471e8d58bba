#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "document/document.hpp"
#include "document/reader.hpp"
#include "model/config_reader.hpp"
#include "model/families/common.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {
namespace {

constexpr std::array<std::string_view, 2> kOperators = {"conv", "full_attention"};

RecurrentSpec read_convolution(ConfigReader& config, const Dimensions& dimensions) {
  return {.kind = RecurrentSpec::Kind::kShortConv,
          .heads = dimensions.hidden_size,
          .value_dim = 1,
          .conv_kernel = config.required_integer("conv_L_cache", kHeads),
          .conv_bias = config.boolean("conv_bias", false)};
}

/// Layers with attention: those of `layer_types`, or of `full_attn_idxs`.
std::vector<bool> attention_layers(ConfigReader& config, const Dimensions& dimensions) {
  const std::vector<std::size_t> types =
      per_layer_words(config, "layer_types", dimensions.num_layers, kOperators);
  const std::vector<std::int64_t> listed =
      config.integers("full_attn_idxs", {0, std::max<std::int64_t>(0, dimensions.num_layers - 1)});
  std::vector<bool> attends(static_cast<std::size_t>(dimensions.num_layers), false);
  for (std::size_t i = 0; i < types.size(); ++i) {
    attends[i] = types[i] == 1;
  }
  for (const std::int64_t layer : types.empty() ? listed : std::vector<std::int64_t>{}) {
    attends[static_cast<std::size_t>(layer)] = true;
  }
  return attends;
}

/// The width is two thirds of the stated one, times a factor, up to a multiple (Lfm2MLP of
/// transformers), unless the file says that it is not adjusted.
DenseFfn read_adjusted_ffn(ConfigReader& config) {
  constexpr std::int64_t kDefaultMultiple = 256;
  std::int64_t width = config.states("block_ff_dim")
                           ? config.required_integer("block_ff_dim", kWidth)
                           : config.required_integer("intermediate_size", kWidth);
  static_cast<void>(config.node("intermediate_size"));
  const bool adjusted = config.boolean("block_auto_adjust_ff_dim", true);
  const document::Node* factor = config.node("block_ffn_dim_multiplier");
  const std::int64_t multiple =
      config.integer("block_multiple_of", kWidth).value_or(kDefaultMultiple);
  if (adjusted) {
    width = 2 * width / 3;
    if (factor != nullptr && factor->is_number()) {
      constexpr double kHighestFactor = 64.0;
      width = static_cast<std::int64_t>(static_cast<double>(width) *
                                        std::clamp(factor->as_real(), 0.0, kHighestFactor));
    }
    width = (width + multiple - 1) / multiple * multiple;
  }
  return {.width = std::max<std::int64_t>(1, width)};
}

std::vector<LayerGroup> with_mixers(ConfigReader& config,
                                    const Dimensions& dimensions,
                                    const std::vector<std::variant<DenseFfn, MoeFfn>>& ffns) {
  AttentionSpec attention = read_attention(config, dimensions);
  attention.qk_norm = true;
  const RecurrentSpec convolution = read_convolution(config, dimensions);
  const std::vector<bool> attends = attention_layers(config, dimensions);
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < attends.size(); ++i) {
    LayerGroup layer{.count = 1, .attention = attention, .ffn = ffns[i]};
    if (!attends[i]) {
      layer.attention = AttentionSpec{};
      layer.recurrent = convolution;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace

/// LFM2 and LFM2.5: gated short convolutions in place of attention in most layers.
std::vector<LayerGroup> lfm2_layers(ConfigReader& config, const Dimensions& dimensions) {
  return with_mixers(config,
                     dimensions,
                     {static_cast<std::size_t>(dimensions.num_layers), read_adjusted_ffn(config)});
}

/// LFM2 MoE: the same mixers; experts after the first `num_dense_layers`.
std::vector<LayerGroup> lfm2_moe_layers(ConfigReader& config, const Dimensions& dimensions) {
  MoeFfn moe = read_experts(config, "num_experts");
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.router_bias = config.boolean("use_expert_bias", true);
  const std::int64_t dense_layers =
      config.integer("num_dense_layers", {0, kLayers.highest}).value_or(0);
  const DenseFfn dense = read_dense_ffn(config);
  std::vector<std::variant<DenseFfn, MoeFfn>> ffns;
  for (std::int64_t i = 0; i < dimensions.num_layers; ++i) {
    if (i < dense_layers) {
      ffns.emplace_back(dense);
    } else {
      ffns.emplace_back(moe);
    }
  }
  return with_mixers(config, dimensions, ffns);
}

}  // namespace ridgeline::model
