#include "model/config_keys.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "model/config_reader.hpp"
#include "model/families/families.hpp"

namespace ridgeline::model {
namespace {

/// A key that changes what a network computes, and what it stands for.
struct Feature {
  std::string_view key;
  std::string_view name;
};
constexpr auto kFeatures = std::to_array<Feature>({
    {"kv_lora_rank", "multi-head latent attention"},
    {"q_lora_rank", "multi-head latent attention"},
    {"ssm_state_size", "a state-space layer"},
    {"mamba_d_state", "a state-space layer"},
    {"hybrid_override_pattern", "a hybrid of layer types"},
    {"layers_block_type", "a hybrid of layer types"},
    {"hybrid_layer_pattern", "a hybrid of layer types"},
    {"block_types", "a hybrid of layer types"},
    {"layer_types", "a hybrid of layer types"},
    {"attn_type_list", "a hybrid of layer types"},
    {"full_attention_interval", "a hybrid of layer types"},
    {"attn_layer_period", "a hybrid of layer types"},
    {"linear_num_value_heads", "linear attention"},
    {"linear_attn_config", "linear attention"},
    {"sliding_window", "attention over a window"},
    {"sliding_window_pattern", "attention over a window"},
    {"attention_chunk_size", "attention in chunks"},
    {"compress_ratios", "a compressed KV cache"},
    {"sparse_attention_config", "sparse attention"},
    {"index_topk", "sparse attention"},
    {"attention_sink", "attention sinks"},
    {"attention_bias", "a bias in attention"},
    {"qkv_bias", "a bias in attention"},
    {"mlp_bias", "a bias in the feed-forward network"},
    {"use_bias", "a bias on the projections"},
    {"use_qk_norm", "norms on queries and keys"},
    {"qk_layernorm", "norms on queries and keys"},
    {"attn_output_gate", "a gate on attention's output"},
    {"attention_output_gate", "a gate on attention's output"},
    {"attention_k_eq_v", "keys that serve as values"},
    {"global_head_dim", "heads of another size in some layers"},
    {"num_global_key_value_heads", "other KV heads in some layers"},
    {"num_kv_shared_layers", "keys and values shared between layers"},
    {"multi_query", "one KV head for all query heads"},
    {"num_experts", "a mixture of experts"},
    {"num_local_experts", "a mixture of experts"},
    {"n_routed_experts", "a mixture of experts"},
    {"moe_num_experts", "a mixture of experts"},
    {"enable_moe_block", "a mixture of experts"},
    {"n_shared_experts", "shared experts"},
    {"num_shared_experts", "shared experts"},
    {"shared_expert_intermediate_size", "shared experts"},
    {"shared_intermediate_size", "shared experts"},
    {"routed_expert_hidden_size", "experts of another width"},
    {"num_attention_heads_per_layer", "other query heads in some layers"},
    {"attention_other_setting", "other query heads in some layers"},
    {"gating", "a gate on attention's output"},
    {"use_head_wise_attn_gate", "a gate on attention's output"},
    {"mla_use_output_gate", "a gate on attention's output"},
    {"conv_L_cache", "short convolutions"},
    {"engram_layer_ids", "tables of n-grams"},
    {"oe_vocab_size_ratio", "tables of n-grams"},
    {"zero_expert_num", "experts that compute nothing"},
    {"moe_latent_size", "experts of another width"},
    {"first_k_dense_replace", "dense layers before the experts"},
    {"mlp_only_layers", "dense layers among the experts"},
    {"mlp_layer_types", "dense layers among the experts"},
    {"hidden_size_per_layer_input", "an embedding per layer"},
    {"use_double_wide_mlp", "a wider feed-forward network in some layers"},
    {"add_cross_attention", "cross-attention"},
    {"cross_attention_layers", "cross-attention"},
    {"is_encoder_decoder", "an encoder before the decoder"},
    {"encoder_layers", "an encoder before the decoder"},
    {"audio_config", "an audio encoder"},
    {"expert_dtype", "experts in a format of their own"},
});

// clang-format off
/// Keys of published files that change neither the size of a network nor the time of a step: names,
/// tokens, training, sampling, positions, scales, activation functions; sizes of parts that a
/// family without them leaves unread; and what describes drafting layers beyond their number.
constexpr auto kHarmless = std::to_array<std::string_view>({
    // The file and its library.
    "architectures", "auto_map", "dtype", "id2label", "label2id", "model_type", "prefix",
    "problem_type", "task_specific_params", "tokenizer_class", "torch_dtype", "torchscript",
    "compression_config",
    "transformers_version", "finetuning_task", "for_llm_compressor", "return_dict",
    "return_dict_in_generate", "output_attentions", "output_hidden_states", "output_scores",
    "output_router_logits", "tf_legacy_loss", "use_bfloat16", "use_cache", "use_mamba_kernels",
    "pruned_heads", "tie_encoder_decoder", "is_decoder", "cross_attention_hidden_size",
    "chunk_size_feed_forward", "language_model_only", "num_reward_heads", "num_logits_to_keep",
    // Tokens.
    "audio_token_id", "bad_words_ids", "begin_suppress_tokens", "boa_token_id", "boi_token_id",
    "boi_token_index", "bos_token_id", "decoder_start_token_id", "eoa_token_id",
    "eoa_token_index", "eoi_token_id", "eoi_token_index", "eos_token_id", "forced_bos_token_id",
    "forced_eos_token_id", "ignore_index", "image_token_id", "image_token_index",
    "media_placeholder_token_id", "pad_token_id", "sep_token_id", "suppress_tokens",
    "video_placeholder", "video_token_id", "video_token_index", "vision_end_token_id",
    "vision_start_token_id",
    // Training.
    "attention_dropout", "aux_loss_alpha", "embd_pdrop", "ep_size", "hidden_dropout",
    "initializer_range", "moe_router_dtype", "pretraining_tp", "rescale_prenorm_residual",
    "resid_pdrop", "router_aux_loss_coef", "router_jitter_noise", "seq_aux", "time_step_floor",
    "time_step_limit", "time_step_max", "time_step_min", "time_step_rank",
    // Sampling by transformers.
    "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "length_penalty", "max_length", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences",
    "remove_invalid_values", "repetition_penalty", "temperature", "top_k", "top_p", "typical_p",
    // Positions.
    "compress_rope_theta", "indexer_rope_interleave", "initial_context_length",
    "mla_use_nope", "model_max_length", "original_max_position_embeddings",
    "partial_rotary_factor", "rope_interleave", "rope_local_base_freq", "rope_parameters", "rope_scaling", "rope_theta", "rotary_dim",
    "swa_rope_theta",
    // Scales, norms' epsilons and activation functions: a few operations on a token's values.
    "activation_situ_beta", "activation_situ_linear_beta", "attention_multiplier",
    "attention_value_scale", "attn_logit_softcapping", "embedding_multiplier",
    "final_logit_softcapping", "hc_eps", "hc_sinkhorn_iters", "hidden_act", "hidden_activation", "kda_lower_bound", "kda_safe_gate",
    "latent_moe_use_norm", "layer_norm_epsilon", "layernorm_epsilon", "logits_scaling", "mamba_hidden_act", "mhc",
    "mlp_hidden_act", "moe_renormalize", "moe_routed_scaling_factor", "moe_router_activation",
    "moe_router_activation_func", "moe_router_scaling_factor", "norm_eps", "norm_topk_prob", "output_gate_type", "query_pre_attn_scalar",
    "residual_in_fp32", "residual_multiplier", "rms_norm_eps", "routed_scaling_factor",
    "scoring_func", "swiglu_alpha", "swiglu_limit", "use_gemma_norm",
    // Which experts a router may choose, at the same cost.
    "n_group", "num_expert_group", "num_hash_layers", "topk_group", "topk_method",
    "moe_shared_expert_overlap", "use_grouped_topk",
    // Sizes of parts that a family may lack, and what follows from others.
    "chunk_size", "conv_kernel", "dense_intermediate_size", "expand", "expert_intermediate_size",
    "experts_per_token", "head_dim", "intermediate_size", "intermediate_size_mlp",
    "max_window_layers", "moe_intermediate_size",
    "moe_layer_freq", "decoder_sparse_step", "num_experts_per_tok", "num_key_value_heads",
    "qk_head_dim", "qk_norm_type", "qk_rope_head_dim", "sliding_window_size", "top_k_experts",
    "use_sliding_window", "vocab_size_per_layer_input", "mamba_proj_bias",
    // The choice among an indexer's results.
    "index_kpool_always_select_tail", "index_share_for_mtp_iteration", "index_skip_topk_offset",
    "index_topk_freq", "index_topk_pattern",
    // Drafting layers.
    "mtp_hybrid_override_pattern", "mtp_layers_block_type", "mtp_transformer_layers",
    "mtp_use_dedicated_embeddings", "use_mtp",
    // Images: how many tokens they become, and what stands between tower and decoder.
    "image_grid_pinpoints", "image_seq_length", "img_token_compression_config",
    "multimodal_projector_bias", "process_image_mode", "projector_hidden_act",
    "projector_hidden_size", "use_bidirectional_attention", "use_unified_vision_chunk",
    "vision_feature_layer", "vision_feature_select_strategy", "vision_soft_tokens_per_image",
});
// clang-format on

template <class List>
bool contains(const List& list, std::string_view key) {
  return std::find(list.begin(), list.end(), key) != list.end();
}

/// Whether a value says that the feature is absent.
bool says_absent(const document::Node& value) {
  switch (value.kind()) {
    case document::Node::Kind::kNull:
      return true;
    case document::Node::Kind::kBool:
      return !value.as_bool();
    case document::Node::Kind::kInteger:
      return value.as_integer() == 0;
    case document::Node::Kind::kReal:
      return value.as_real() == 0.0;
    case document::Node::Kind::kString:
      return value.as_string().empty() || value.as_string() == "full_attention";
    case document::Node::Kind::kList:
      return std::all_of(value.items().begin(), value.items().end(), says_absent);
    case document::Node::Kind::kMap:
      return value.members().empty();
  }
  return false;
}

/// Heads that generate text, by the end of a class's name in Hugging Face transformers.
constexpr auto kGenerating = std::to_array<std::string_view>(
    {"ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "CausalLM"});
/// Classes of published networks that are not named after their model_type.
constexpr auto kOwnNames =
    std::to_array<std::string_view>({"bailingmoev3", "minimaxm3sparse", "step3p7flash"});
/// Kinds of rotary positions of transformers and vLLM (`get_rope`), which cost the same.
constexpr auto kRopeTypes = std::to_array<std::string_view>({"default",
                                                             "linear",
                                                             "dynamic",
                                                             "ntk",
                                                             "yarn",
                                                             "deepseek_yarn",
                                                             "llama3",
                                                             "mllama4",
                                                             "longrope",
                                                             "su",
                                                             "mrope",
                                                             "xdrope",
                                                             "proportional"});

/// "Qwen3MoeForCausalLM" gives "Qwen3Moe"; nothing where the class generates no text.
std::optional<std::string_view> generating_class(std::string_view architecture) {
  for (const std::string_view end : kGenerating) {
    if (architecture.ends_with(end)) {
      return architecture.substr(0, architecture.size() - end.size());
    }
  }
  return std::nullopt;
}

/// "Qwen3_5Moe" and "qwen3_5_moe" are one name.
std::string squashed(std::string_view name) {
  std::string plain;
  for (const char letter : name) {
    if (letter != '_') {
      plain += letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    }
  }
  return plain;
}

bool is_known_class(std::string_view architecture) {
  const auto stem = generating_class(architecture);
  const std::string own = stem ? squashed(*stem) : std::string();
  return stem &&
         (contains(kOwnNames, own) || std::ranges::any_of(families(), [&](const Family& family) {
            return squashed(family.model_type) == own;
          }));
}

/// Names what a map of rotary positions, or one for each kind of layer, has of unknown types.
void note_rope_types(const document::Node& rope,
                     std::string_view key,
                     std::vector<std::string>& unknown) {
  if (!rope.is_map()) {
    return;
  }
  for (const document::Node::Member& member : rope.members()) {
    const bool is_type = member.key == "rope_type" || member.key == "type";
    if (is_type && member.value.is_string() && !contains(kRopeTypes, member.value.as_string())) {
      unknown.push_back(fmt::format("{} {}", key, member.value.describe()));
    } else {
      note_rope_types(member.value, key, unknown);
    }
  }
}

/// The names under `architectures`.
std::vector<std::string> architectures(const document::Node& document) {
  std::vector<std::string> names;
  const document::Node* list = document.find("architectures");
  if (list != nullptr && list->is_list()) {
    for (const document::Node& name : list->items()) {
      if (name.is_string()) {
        names.push_back(name.as_string());
      }
    }
  }
  return names;
}

}  // namespace

bool generates_text(const document::Node& document) {
  // BERT and its relatives alone embed token types.
  const std::vector<std::string> names = architectures(document);
  return document.find("type_vocab_size") == nullptr &&
         (names.empty() || std::ranges::any_of(names, [](const std::string& name) {
            return generating_class(name).has_value();
          }));
}

std::vector<std::string> unknown_values(const document::Node& document) {
  std::vector<std::string> unknown;
  for (const std::string& name : architectures(document)) {
    if (!is_known_class(name)) {
      unknown.push_back(fmt::format("architectures {}", core::quote(name)));
    }
  }
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    if (const document::Node* rope = document.find(key)) {
      note_rope_types(*rope, key, unknown);
    }
  }
  const document::Node* quantisation = document.find("quantization_config");
  const document::Node* sparsity = quantisation != nullptr && quantisation->is_map()
                                       ? quantisation->find("sparsity_config")
                                       : nullptr;
  const document::Node* format =
      sparsity != nullptr && sparsity->is_map() ? sparsity->find("format") : nullptr;
  if (format != nullptr && format->is_string() && format->as_string() != "dense") {
    unknown.push_back(
        fmt::format("quantization_config.sparsity_config ({}: weights are counted and multiplied "
                    "as dense ones)",
                    format->as_string()));
  }
  return unknown;
}

std::vector<std::string> check_unread_keys(const document::Node& document,
                                           const Family& family,
                                           ConfigReader& config) {
  std::vector<std::string> unknown;
  for (const document::Node::Member& member : document.members()) {
    const std::string_view key = member.key;
    if (key.starts_with('_') || config.was_asked(key) || contains(family.implied, key) ||
        says_absent(member.value)) {
      continue;
    }
    const auto* const feature = std::find_if(
        kFeatures.begin(), kFeatures.end(), [&](const Feature& known) { return known.key == key; });
    if (feature != kFeatures.end()) {
      static_cast<void>(config.node(key));  // Refused once, also where the command line set it.
      config.not_modelled(
          key,
          fmt::format("{} ({}) in networks of type {}", feature->name, key, family.model_type));
    } else if (!contains(kHarmless, key)) {
      unknown.push_back(core::quote(member.key));
    }
  }
  return unknown;
}

}  // namespace ridgeline::model
