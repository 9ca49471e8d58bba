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

enum class Block : std::uint8_t { kMamba, kAttention, kMoe, kMlp };

constexpr std::array<std::string_view, 4> kBlocks = {"mamba", "attention", "moe", "mlp"};
/// kBlocks as letters of `hybrid_override_pattern`.
constexpr std::string_view kLetters = "M*E-";

std::vector<Block> read_blocks(ConfigReader& config, const Dimensions& dimensions) {
  std::vector<Block> blocks;
  for (const std::size_t block :
       per_layer_words(config, "layers_block_type", dimensions.num_layers, kBlocks)) {
    blocks.push_back(static_cast<Block>(block));
  }
  const std::string pattern = config.string("hybrid_override_pattern").value_or("");
  if (!blocks.empty()) {
    return blocks;
  }
  if (static_cast<std::int64_t>(pattern.size()) != dimensions.num_layers) {
    config.problem(
        "hybrid_override_pattern",
        fmt::format("has {} letters, expected {}", pattern.size(), dimensions.num_layers));
    return {};
  }
  for (const char letter : pattern) {
    const std::size_t block = kLetters.find(letter);
    if (block == std::string_view::npos) {
      config.problem(
          "hybrid_override_pattern",
          fmt::format("has the letter '{}', expected letters of \"{}\"", letter, kLetters));
      return {};
    }
    blocks.push_back(static_cast<Block>(block));
  }
  return blocks;
}

RecurrentSpec read_mamba(ConfigReader& config) {
  RecurrentSpec mamba{.kind = RecurrentSpec::Kind::kMamba2};
  mamba.heads = config.required_integer("mamba_num_heads", kHeads);
  mamba.value_dim = config.required_integer("mamba_head_dim", kHeads);
  mamba.key_heads = config.required_integer("n_groups", kHeads);
  mamba.key_dim = config.required_integer("ssm_state_size", kHeads);
  mamba.conv_kernel = config.required_integer("conv_kernel", kHeads);
  mamba.conv_bias = config.boolean("use_conv_bias", true);
  mamba.state = config.string("mamba_ssm_cache_dtype") == "float32" ? DType::kFp32 : DType::kBf16;
  if (config.boolean("mamba_proj_bias", false) || config.boolean("use_bias", false)) {
    config.not_modelled("use_bias", "a bias on the projections");
  }
  return mamba;
}

AttentionSpec read_nemotron_attention(ConfigReader& config, const Dimensions& dimensions) {
  AttentionSpec attention;
  attention.heads = config.required_integer("num_attention_heads", kHeads);
  attention.kv_heads = config.required_integer("num_key_value_heads", kHeads);
  const auto older = config.integer("attention_head_dim", kHeads);
  const auto newer = config.integer("head_dim", kHeads);
  attention.head_dim = newer.value_or(
      older.value_or(dimensions.hidden_size / std::max<std::int64_t>(1, attention.heads)));
  if (attention.kv_heads > 0 && attention.heads % attention.kv_heads != 0) {
    config.problem(
        "num_key_value_heads",
        fmt::format(
            "{} does not divide num_attention_heads {}", attention.kv_heads, attention.heads));
  }
  return attention;
}

MoeFfn read_nemotron_experts(ConfigReader& config) {
  MoeFfn moe = read_experts(config, "n_routed_experts");
  moe.expert_width = config.required_integer("moe_intermediate_size", kWidth);
  moe.shared_width = config.integer("n_shared_experts", {0, kExperts.highest}).value_or(0) *
                     config.integer("moe_shared_expert_intermediate_size", kWidth).value_or(0);
  moe.latent = config.integer("moe_latent_size", kWidth).value_or(0);
  moe.gated = false;
  moe.router_bias = true;
  return moe;
}

}  // namespace

/// Nemotron-H and Nemotron 3: each layer is one block, Mamba-2, attention, experts or a
/// feed-forward network, behind one norm. Squared ReLU: up and down, no gate. `moe_latent_size` is
/// the width that routed experts work on.
std::vector<LayerGroup> nemotron_h_layers(ConfigReader& config, const Dimensions& dimensions) {
  const std::vector<Block> blocks = read_blocks(config, dimensions);
  const auto has = [&](Block block) {
    return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
  };
  const LayerGroup empty{.count = 1, .attention = {}, .ffn = DenseFfn{}, .norms = 1};
  std::array<LayerGroup, kBlocks.size()> kinds{empty, empty, empty, empty};
  const auto kind = [&](Block block) -> LayerGroup& {
    return kinds[static_cast<std::size_t>(block)];
  };
  if (has(Block::kMamba)) {
    kind(Block::kMamba).recurrent = read_mamba(config);
  }
  if (has(Block::kAttention)) {
    kind(Block::kAttention).attention = read_nemotron_attention(config, dimensions);
  }
  if (has(Block::kMoe)) {
    kind(Block::kMoe).ffn = read_nemotron_experts(config);
  }
  if (has(Block::kMlp)) {
    kind(Block::kMlp).ffn =
        DenseFfn{.width = config.required_integer("intermediate_size", kWidth), .gated = false};
  }
  std::vector<LayerGroup> layers;
  layers.reserve(blocks.size());
  for (const Block block : blocks) {
    layers.push_back(kind(block));
  }
  return grouped(layers);
}

}  // namespace ridgeline::model
