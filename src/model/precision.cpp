#include "model/precision.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "model/config_reader.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/quantisation.hpp"

namespace ridgeline::model {
namespace {

/// vLLM serves 32-bit checkpoints in 16 bits (its `dtype: auto`).
DType read_dtype(ConfigReader& config) {
  const std::optional<std::string> older = config.string("torch_dtype");
  const std::optional<std::string> newer = config.string("dtype");
  const std::string_view key = newer ? "dtype" : "torch_dtype";
  const std::optional<std::string>& stated = newer ? newer : older;
  if (!stated) {
    config.derived("torch_dtype", "default: bfloat16");
    return DType::kBf16;
  }
  if (*stated == "float16" || *stated == "half") {
    return DType::kFp16;
  }
  if (*stated == "float32" || *stated == "float") {
    config.derived(key, "float32, served in 16 bits as vLLM's dtype auto does");
    return DType::kBf16;
  }
  if (*stated != "bfloat16") {
    config.problem(
        key, fmt::format("{} is not one of bfloat16, float16, float32", core::quote(*stated)));
  }
  return DType::kBf16;
}

/// The format that most of the layers have; ties go to the format met first.
class MostCommonFormat {
 public:
  void count(DType format, std::int64_t layers) {
    const auto known = std::find_if(
        counts_.begin(), counts_.end(), [&](const auto& entry) { return entry.first == format; });
    if (known == counts_.end()) {
      counts_.emplace_back(format, layers);
    } else {
      known->second += layers;
    }
  }
  [[nodiscard]] DType value_or(DType fallback) const {
    const auto most =
        std::max_element(counts_.begin(), counts_.end(), [](const auto& a, const auto& b) {
          return a.second < b.second;
        });
    return most == counts_.end() ? fallback : most->first;
  }

 private:
  std::vector<std::pair<DType, std::int64_t>> counts_;
};

bool mixes(const LayerGroup& group) {
  return group.recurrent.has_value() || group.attention.heads > 0;
}

/// What a layer's formats say about parts that it has; `fallback` for the others.
LayerPrecision relevant(const LayerPrecision& stated,
                        const LayerGroup& group,
                        const LayerPrecision& fallback) {
  LayerPrecision result = fallback;
  if (mixes(group)) {
    result.mixer_in = stated.mixer_in;
    result.mixer_out = stated.mixer_out;
  }
  if (const auto* moe = std::get_if<MoeFfn>(&group.ffn)) {
    result.ffn = stated.ffn;
    result.shared = moe->shared_width > 0 || moe->latent > 0 ? stated.shared : fallback.shared;
  } else if (std::get<DenseFfn>(group.ffn).width > 0) {
    result.ffn = stated.ffn;
  }
  return result;
}

/// Cuts a group where the formats change.
void split_by_format(const LayerGroup& group,
                     const LayerPrecision& network,
                     const LayerPrecision* stated,
                     std::vector<LayerGroup>& into) {
  const std::size_t first = into.size();
  for (std::int64_t i = 0; i < group.count; ++i) {
    LayerGroup layer = group;
    layer.count = 1;
    if (const LayerPrecision own = relevant(stated[i], group, network); own != network) {
      layer.precision = own;
    }
    if (into.size() > first && into.back().precision == layer.precision) {
      ++into.back().count;
    } else {
      into.push_back(layer);
    }
  }
}

}  // namespace

StatedPrecision read_precision(ConfigReader& config, std::int64_t num_layers) {
  const DType base = read_dtype(config);
  StatedPrecision stated{.base = base, .lm_head = base, .kv = base, .layers = {}, .experts = {}};
  // Layers are missing only where a problem is noted already.
  const std::int64_t layers = std::clamp<std::int64_t>(num_layers, 0, kLayers.highest);
  FormatTable table(layers, base);
  if (config.string("model_type").value_or("").starts_with("gemma4")) {
    table.experts_stand_apart();
  }
  const document::Node* node = config.node("quantization_config");
  if (node != nullptr && !node->is_null()) {
    stated.kv = read_quantisation(config, *node, base, table).value_or(base);
  }
  if (const document::Node* other = config.node("quantization");
      node == nullptr && other != nullptr && other->is_map()) {
    config.not_modelled("quantization", "the quantisation of MLX");
  }
  const std::optional<std::string> experts = config.string("expert_dtype");
  const bool has_own = node != nullptr && node->is_map() && node->find("moe_quant_algo") != nullptr;
  if (experts == "fp4") {
    if (!has_own) {
      table.set_experts(DType::kMxfp4);
    }
  } else if (experts) {
    config.not_modelled("expert_dtype", fmt::format("experts in {}", core::quote(*experts)));
  }
  stated.lm_head = table.lm_head();
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    // Which of the two feed-forward parts a layer has is known only with its shape.
    stated.layers.push_back({.mixer_in = table.at(layer, Part::kMixerIn),
                             .mixer_out = table.at(layer, Part::kMixerOut),
                             .ffn = table.at(layer, Part::kFfn),
                             .shared = table.at(layer, Part::kShared)});
    stated.experts.push_back(table.at(layer, Part::kRouted));
  }
  return stated;
}

void apply_precision(const StatedPrecision& stated, ModelSpec& spec) {
  std::vector<LayerPrecision> formats = stated.layers;
  MostCommonFormat attention;
  MostCommonFormat dense;
  MostCommonFormat experts;
  std::size_t layer = 0;
  for (const LayerGroup& group : spec.layers) {
    const bool moe = std::holds_alternative<MoeFfn>(group.ffn);
    for (std::int64_t i = 0; i < group.count; ++i, ++layer) {
      formats[layer].ffn = moe ? stated.experts[layer] : stated.layers[layer].ffn;
      if (mixes(group)) {
        attention.count(formats[layer].mixer_in, 1);
      }
      (moe ? experts : dense).count(formats[layer].ffn, 1);
    }
  }
  spec.precision = {.attention = attention.value_or(stated.base),
                    .ffn = experts.value_or(dense.value_or(stated.base)),
                    .embedding = stated.base,
                    .kv = stated.kv};
  if (stated.lm_head != stated.base) {
    spec.precision.lm_head = stated.lm_head;
  }
  const LayerPrecision network{.mixer_in = spec.precision.attention,
                               .mixer_out = spec.precision.attention,
                               .ffn = spec.precision.ffn,
                               .shared = spec.precision.ffn};
  std::vector<LayerGroup> groups;
  const LayerPrecision* next = formats.data();
  for (const LayerGroup& group : spec.layers) {
    split_by_format(group, network, next, groups);
    next += group.count;
  }
  spec.layers = std::move(groups);
}

}  // namespace ridgeline::model
