#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/config_reader.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// What every family's config.json states alike, read before its layers.
struct Dimensions {
  std::int64_t hidden_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t max_position = 0;
};

/// One `model_type` of Hugging Face transformers: how its config.json describes the layers. Where
/// that meets a problem it notes it in the reader; the result is then not used.
struct Family {
  std::string_view model_type;
  std::vector<LayerGroup> (*layers)(ConfigReader& config, const Dimensions& dimensions);
  /// Whether lm_head is the embedding where the file does not say.
  bool tied_by_default = false;
  /// Keys that change other networks and that this family's layers have by construction.
  std::span<const std::string_view> implied = {};
};

/// The families that can be read, sorted by model_type.
std::span<const Family> families();

std::vector<LayerGroup> bailing_hybrid_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> deepseek_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> deepseek_v4_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> gemma2_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> gemma3_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> gemma4_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> glm4_moe_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> glm5_next_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> glm_moe_dsa_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> gpt_oss_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> granite_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> granite_moe_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> kimi_linear_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> laguna_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> lfm2_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> lfm2_moe_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> llama_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> llama4_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> mimo_v2_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> minimax_m2_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> minimax_m3_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> mistral_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> mistral3_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> mixtral_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> nemotron_h_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> phi3_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> qwen2_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> qwen2_moe_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> qwen3_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> qwen3_moe_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> qwen3_5_layers(ConfigReader& config, const Dimensions& dimensions);
std::vector<LayerGroup> step3_layers(ConfigReader& config, const Dimensions& dimensions);

}  // namespace ridgeline::model
