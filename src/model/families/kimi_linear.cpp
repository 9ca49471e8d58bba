#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Kimi delta attention, and which layers have it instead of latent attention.
struct DeltaLayers {
  RecurrentSpec delta;
  std::vector<bool> has_delta;
};

/// `linear_attn_config`, which counts layers from 1.
DeltaLayers read_delta(ConfigReader& config, const Dimensions& dimensions) {
  DeltaLayers read;
  read.has_delta.resize(static_cast<std::size_t>(dimensions.num_layers), false);
  const document::Node* node = config.node("linear_attn_config");
  if (node == nullptr || !node->is_map()) {
    config.problem("linear_attn_config", "is missing, expected a map");
    return read;
  }
  document::ObjectReader reader(*node,
                                config.path_of("linear_attn_config"),
                                config.errors(),
                                document::ObjectReader::Unknown::kIgnore);
  const std::int64_t heads = reader.required_integer("num_heads", kHeads);
  const std::int64_t width = reader.required_integer("head_dim", kHeads);
  read.delta = kimi_delta(heads, width, reader.required_integer("short_conv_kernel_size", kHeads));
  // The decay goes through one head's width; so does the gate, unless it has one matrix.
  read.delta.decay_rank = width;
  read.delta.gate_rank = reader.boolean("use_full_rank_gate").value_or(false) ? 0 : width;
  for (const std::int64_t layer :
       reader.integers("kda_layers", {1, std::max<std::int64_t>(1, dimensions.num_layers)})
           .value_or(std::vector<std::int64_t>{})) {
    read.has_delta[static_cast<std::size_t>(layer - 1)] = true;
  }
  return read;
}

MoeFfn read_kimi_experts(ConfigReader& config) {
  MoeFfn moe;
  moe.experts = config.required_integer("num_experts", kExperts);
  moe.experts_per_token = config.required_integer("num_experts_per_token", kExperts);
  if (moe.experts_per_token > moe.experts) {
    config.problem(
        "num_experts_per_token",
        fmt::format("{} is more than num_experts {}", moe.experts_per_token, moe.experts));
  }
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.shared_width =
      config.integer("num_shared_experts", {0, kExperts.highest}).value_or(0) * moe.expert_width;
  moe.latent = config.integer("routed_expert_hidden_size", kWidth).value_or(0);
  moe.router_bias = true;
  return moe;
}

}  // namespace

RecurrentSpec kimi_delta(std::int64_t heads, std::int64_t head_dim, std::int64_t conv_kernel) {
  return {.kind = RecurrentSpec::Kind::kKimiDelta,
          .heads = heads,
          .key_heads = heads,
          .key_dim = head_dim,
          .value_dim = head_dim,
          .conv_kernel = conv_kernel};
}

/// Kimi Linear and Kimi K3: Kimi delta attention in most layers, latent attention in the others (in
/// K3 with a gate on its output); DeepSeek's arrangement of experts, which in K3 work on a vector
/// of `routed_expert_hidden_size`. K3's residual attention over blocks of layers has a few vectors.
std::vector<LayerGroup> kimi_linear_layers(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec latent = read_latent_attention(config);
  latent.output_gate = config.boolean("mla_use_output_gate", false);
  const DeltaLayers mixers = read_delta(config, dimensions);
  const MoeFfn moe = read_kimi_experts(config);
  const std::vector<bool> is_moe = sparse_layers(config, dimensions);
  const bool any_dense = std::find(is_moe.begin(), is_moe.end(), false) != is_moe.end();
  const DenseFfn dense = any_dense ? read_dense_ffn(config) : DenseFfn{};
  std::vector<LayerGroup> layers;
  for (std::size_t i = 0; i < is_moe.size(); ++i) {
    LayerGroup layer{.count = 1, .attention = latent, .ffn = dense};
    if (mixers.has_delta[i]) {
      layer.attention = AttentionSpec{};
      layer.recurrent = mixers.delta;
    }
    if (is_moe[i]) {
      layer.ffn = moe;
    }
    layers.push_back(layer);
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
