#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/document.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "model/config_reader.hpp"
#include "model/families/families.hpp"
#include "model/hf_document.hpp"
#include "model/model_spec.hpp"
#include "model/precision.hpp"

namespace ridgeline::model {
namespace {

const Family* find_family(std::string_view model_type) {
  for (const Family& family : families()) {
    if (family.model_type == model_type) {
      return &family;
    }
  }
  return nullptr;
}

const Family* read_family(ConfigReader& config) {
  std::vector<std::string> known;
  std::string list;
  for (const Family& family : families()) {
    known.emplace_back(family.model_type);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", family.model_type);
  }
  const core::Node* stated = config.node("model_type");
  if (stated == nullptr || !stated->is_string()) {
    config.problem("model_type",
                   stated == nullptr
                       ? fmt::format("is missing, expected one of {}", list)
                       : fmt::format("{} is not one of {}", stated->describe(), list));
    return nullptr;
  }
  const Family* family = find_family(stated->as_string());
  if (family == nullptr) {
    config.problem("model_type",
                   fmt::format("networks of type {} are not modelled yet", stated->describe()),
                   fmt::format("supported: {}", list));
  }
  return family;
}

/// Keys of architectures that share a model_type's file format but not its cost.
void refuse_other_architectures(ConfigReader& config) {
  struct Feature {
    std::string_view key;
    std::string_view name;
  };
  static constexpr Feature kFeatures[] = {
      {"kv_lora_rank", "multi-head latent attention (kv_lora_rank)"},
      {"q_lora_rank", "multi-head latent attention (q_lora_rank)"},
      {"ssm_state_size", "a state-space layer (ssm_state_size)"},
      {"mamba_d_state", "a state-space layer (mamba_d_state)"},
      {"hybrid_override_pattern", "a hybrid of layer types (hybrid_override_pattern)"},
      {"linear_num_value_heads", "linear attention (linear_num_value_heads)"},
      {"index_topk", "sparse attention (index_topk)"},
  };
  for (const Feature& feature : kFeatures) {
    const core::Node* value = config.states(feature.key) ? config.node(feature.key) : nullptr;
    if (value != nullptr && !value->is_null()) {
      config.not_modelled(feature.key, feature.name);
    }
  }
}

SamplingDefaults read_generation(ConfigReader& config) {
  SamplingDefaults sampling;
  const core::Node* node = config.node(kGenerationKey);
  if (node == nullptr || node->is_null()) {
    return sampling;
  }
  // vLLM's bounds on sampling parameters: top_p in (0, 1], top_k -1 or 0 for off, penalties above
  // 0.
  core::ObjectReader reader(
      *node, config.path_of(kGenerationKey), config.errors(), core::ObjectReader::Unknown::kIgnore);
  sampling.top_p = reader.real("top_p", {0.0, 1.0});
  sampling.top_k = reader.integer("top_k", {-1, kWidth.highest});
  sampling.repetition_penalty = reader.real("repetition_penalty", {0.0, 2.0});
  reader.finish();
  config.derived("sampling", describe(node->where()));
  return sampling;
}

void read_identity(ConfigReader& config, const std::string& name, ModelSpec& spec) {
  spec.name = config.string(kNameKey).value_or(name);
  spec.hf_id = config.string(kHfIdKey).value_or(std::string());
  if (const std::optional<std::string> source = config.string(kSourceKey)) {
    spec.provenance.emplace_back("model", *source);
  }
}

}  // namespace

core::Result<ModelSpec> model_from_node(const core::Node& document, const std::string& name) {
  if (!document.is_map()) {
    return core::fail(core::Error{
        .code = core::ErrorCode::kUsage,
        .field = "model",
        .message =
            fmt::format("{} is not a network's configuration, expected a map", document.describe()),
        .where = document.where(),
        .hint = {}});
  }
  const core::Node flat = lift_text_config(document);
  ModelSpec spec;
  core::Errors errors;
  ConfigReader config(flat, errors, spec.provenance);
  const Family* family = read_family(config);
  if (family == nullptr) {
    return core::fail(std::move(errors));
  }
  read_identity(config, name, spec);
  spec.family = family->model_type;
  refuse_other_architectures(config);
  spec.hidden_size = config.required_integer("hidden_size", kWidth);
  spec.vocab_size = config.required_integer("vocab_size", kWidth);
  spec.max_position = core::Tokens(config.required_integer("max_position_embeddings", kPositions));
  // False is the default of every family in the table.
  spec.tied_embeddings = config.boolean("tie_word_embeddings", false);
  const Dimensions dimensions{.hidden_size = spec.hidden_size,
                              .num_layers = config.required_integer("num_hidden_layers", kLayers),
                              .max_position = spec.max_position.value()};
  spec.layers = family->layers(config, dimensions);
  spec.precision = read_precision(config, dimensions.num_layers);
  spec.sampling = read_generation(config);
  config.finish();
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return spec;
}

}  // namespace ridgeline::model
