#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "model/config_reader.hpp"
#include "model/families/families.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// num_attention_heads, num_key_value_heads (as many as query heads when the file does not say, as
/// transformers does for llama) and head_dim (hidden_size / num_attention_heads when the file does
/// not say). Biases and query and key norms are the family's to set.
AttentionSpec read_attention(ConfigReader& config, const Dimensions& dimensions);

/// Gate, up and down of width `intermediate_size`.
DenseFfn read_dense_ffn(ConfigReader& config);

/// Experts per token and in all, from the two keys; the widths are the family's to set.
MoeFfn read_experts(ConfigReader& config, std::string_view experts_key);

/// Width of routed experts (`moe_intermediate_size`) and of `n_shared_experts` experts of that
/// width, beside read_experts.
MoeFfn read_experts_with_shared(ConfigReader& config, std::string_view experts_key);

/// A key's list of `size` integers in the range, one a layer; empty where the file has none. A list
/// of another length is noted as a problem.
std::vector<std::int64_t> per_layer(ConfigReader& config,
                                    std::string_view key,
                                    std::int64_t size,
                                    document::Range<std::int64_t> range);
/// Reads words per layer, each one of `words`, as indices into them. The list may go on with those
/// of `drafting` layers, which are left out.
std::vector<std::size_t> per_layer_words(ConfigReader& config,
                                         std::string_view key,
                                         std::int64_t size,
                                         std::span<const std::string_view> words,
                                         std::int64_t drafting = 0);
/// `layer_types`: which layers have a sliding window. Without the key, none.
std::vector<bool> sliding_layers(ConfigReader& config,
                                 const Dimensions& dimensions,
                                 std::int64_t drafting = 0);

/// Layers one by one as groups: equal neighbours together.
std::vector<LayerGroup> grouped(const std::vector<LayerGroup>& layers);

/// Multi-head latent attention as DeepSeek's files describe it (families/deepseek.cpp).
AttentionSpec read_latent_attention(ConfigReader& config);
/// Kimi delta attention with one matrix each for gate and decay (families/kimi_linear.cpp).
RecurrentSpec kimi_delta(std::int64_t heads, std::int64_t head_dim, std::int64_t conv_kernel);
/// Which layers have experts, by `first_k_dense_replace` and `moe_layer_freq`.
std::vector<bool> sparse_layers(ConfigReader& config, const Dimensions& dimensions);
/// Which layers have experts, by the words of `mlp_layer_types`; `absent` where the file has none.
std::vector<bool> listed_sparse_layers(ConfigReader& config,
                                       const Dimensions& dimensions,
                                       std::vector<bool> absent);

/// Refuses a sliding window shorter than the longest sequence, and `layer_types` other than full
/// attention. For families whose files say it with `sliding_window` alone; `absent` is the family's
/// value where the file does not say (0: none).
void refuse_sliding_window(ConfigReader& config, const Dimensions& dimensions, std::int64_t absent);
/// Refuses a sliding window of the Qwen families, which switch it by `use_sliding_window`.
void refuse_switched_sliding_window(ConfigReader& config, const Dimensions& dimensions);

/// `count` layers of one shape.
std::vector<LayerGroup> uniform(const Dimensions& dimensions,
                                const AttentionSpec& attention,
                                const std::variant<DenseFfn, MoeFfn>& ffn);
/// Layers whose feed-forward network differs: `is_moe[i]` chooses for layer i. Neighbours of equal
/// shape form one group.
std::vector<LayerGroup> mixed(const std::vector<bool>& is_moe,
                              const AttentionSpec& attention,
                              const DenseFfn& dense,
                              const MoeFfn& moe);

}  // namespace ridgeline::model
