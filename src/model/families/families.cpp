#include "model/families/families.hpp"

#include <array>
#include <span>
#include <string_view>

namespace ridgeline::model {
namespace {

/// The norms of Llama 4 have no weights; Qwen 3 always has some.
constexpr std::array<std::string_view, 1> kNormsImplied = {"use_qk_norm"};
/// Every layer of MiniMax-M2 has softmax attention.
constexpr std::array<std::string_view, 1> kAttentionTypesImplied = {"attn_type_list"};
/// `shared_intermediate_size` is the width of all shared experts; `moe_layer_freq` lists the dense
/// layers.
constexpr std::array<std::string_view, 2> kMinimaxM3Implied = {"n_shared_experts",
                                                               "first_k_dense_replace"};
/// `share_expert_dim` is the width of all shared experts.
constexpr std::array<std::string_view, 1> kSharedImplied = {"n_shared_experts"};
/// The window's length once more.
constexpr std::array<std::string_view, 1> kChunkImplied = {"attention_chunk_size"};
/// `layer_types` and `num_experts` repeat what the other keys say.
constexpr std::array<std::string_view, 2> kGlmImplied = {"layer_types", "num_experts"};
/// Residual attention of Kimi K3: vectors and a few operations.
constexpr std::array<std::string_view, 1> kKimiImplied = {"attn_res_block_size"};

constexpr std::array kFamilies = {
    Family{.model_type = "bailing_hybrid", .layers = bailing_hybrid_layers},
    Family{.model_type = "deepseek_ref", .layers = deepseek_v4_layers},
    Family{.model_type = "deepseek_v2", .layers = deepseek_layers},
    Family{.model_type = "deepseek_v3", .layers = deepseek_layers},
    Family{.model_type = "deepseek_v32", .layers = deepseek_layers},
    Family{.model_type = "deepseek_v4", .layers = deepseek_v4_layers},
    Family{.model_type = "gemma2", .layers = gemma2_layers, .tied_by_default = true},
    Family{.model_type = "gemma3", .layers = gemma3_layers, .tied_by_default = true},
    Family{.model_type = "gemma3_text", .layers = gemma3_layers, .tied_by_default = true},
    Family{.model_type = "gemma4", .layers = gemma4_layers, .tied_by_default = true},
    Family{.model_type = "gemma4_text", .layers = gemma4_layers, .tied_by_default = true},
    Family{.model_type = "gemma4_unified", .layers = gemma4_layers, .tied_by_default = true},
    Family{.model_type = "glm4_moe", .layers = glm4_moe_layers},
    Family{.model_type = "glm4_moe_lite", .layers = glm_moe_dsa_layers, .implied = kGlmImplied},
    Family{.model_type = "glm5_next", .layers = glm5_next_layers},
    Family{.model_type = "glm_moe_dsa", .layers = glm_moe_dsa_layers, .implied = kGlmImplied},
    Family{.model_type = "gpt_oss", .layers = gpt_oss_layers},
    Family{.model_type = "granite", .layers = granite_layers},
    Family{.model_type = "granitemoe", .layers = granite_moe_layers},
    Family{.model_type = "kimi_k2", .layers = deepseek_layers},
    Family{.model_type = "kimi_k25", .layers = deepseek_layers},
    Family{.model_type = "kimi_k3", .layers = kimi_linear_layers, .implied = kKimiImplied},
    Family{.model_type = "kimi_linear", .layers = kimi_linear_layers, .implied = kKimiImplied},
    Family{.model_type = "laguna", .layers = laguna_layers},
    Family{.model_type = "lfm2", .layers = lfm2_layers, .tied_by_default = true},
    Family{.model_type = "lfm2_moe", .layers = lfm2_moe_layers, .tied_by_default = true},
    Family{.model_type = "llama", .layers = llama_layers},
    Family{.model_type = "llama4", .layers = llama4_layers, .implied = kNormsImplied},
    Family{.model_type = "llama4_text", .layers = llama4_layers, .implied = kNormsImplied},
    Family{.model_type = "mimo_v2_flash", .layers = mimo_v2_layers, .implied = kChunkImplied},
    Family{
        .model_type = "minimax_m2", .layers = minimax_m2_layers, .implied = kAttentionTypesImplied},
    Family{.model_type = "minimax_m3", .layers = minimax_m3_layers, .implied = kMinimaxM3Implied},
    Family{
        .model_type = "minimax_m3_vl", .layers = minimax_m3_layers, .implied = kMinimaxM3Implied},
    Family{.model_type = "ministral3", .layers = mistral3_layers},
    Family{.model_type = "mistral", .layers = mistral_layers},
    Family{.model_type = "mistral3", .layers = mistral3_layers},
    Family{.model_type = "mixtral", .layers = mixtral_layers},
    Family{.model_type = "nemotron_h", .layers = nemotron_h_layers},
    Family{.model_type = "phi3", .layers = phi3_layers},
    Family{.model_type = "qwen2", .layers = qwen2_layers},
    Family{.model_type = "qwen2_moe", .layers = qwen2_moe_layers},
    Family{.model_type = "qwen3", .layers = qwen3_layers, .implied = kNormsImplied},
    Family{.model_type = "qwen3_5", .layers = qwen3_5_layers},
    Family{.model_type = "qwen3_5_moe", .layers = qwen3_5_layers},
    Family{.model_type = "qwen3_5_moe_text", .layers = qwen3_5_layers},
    Family{.model_type = "qwen3_5_text", .layers = qwen3_5_layers},
    Family{.model_type = "qwen3_moe", .layers = qwen3_moe_layers, .implied = kNormsImplied},
    Family{.model_type = "qwen3_next", .layers = qwen3_5_layers},
    Family{.model_type = "qwen3_vl", .layers = qwen3_layers},
    Family{.model_type = "qwen3_vl_moe", .layers = qwen3_moe_layers, .implied = kNormsImplied},
    Family{.model_type = "qwen3_vl_moe_text", .layers = qwen3_moe_layers},
    Family{.model_type = "qwen3_vl_text", .layers = qwen3_layers},
    Family{.model_type = "step3p5", .layers = step3_layers, .implied = kSharedImplied},
    Family{.model_type = "step3p7", .layers = step3_layers, .implied = kSharedImplied},
};

}  // namespace

std::span<const Family> families() {
  return kFamilies;
}

}  // namespace ridgeline::model
