#include "evidence/validate/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"

namespace ridgeline::evidence::validate {
namespace {

using model::DType;
using model::LayerGroup;
using model::ModelSpec;

constexpr auto kWords =
    std::to_array<std::pair<std::string_view, WeightKind>>({{"nvfp4", WeightKind::kFp4},
                                                            {"mxfp4", WeightKind::kFp4},
                                                            {"fp4", WeightKind::kFp4},
                                                            {"int4", WeightKind::kInt4},
                                                            {"awq", WeightKind::kInt4},
                                                            {"gptq", WeightKind::kInt4},
                                                            {"w4a16", WeightKind::kInt4},
                                                            {"int8", WeightKind::kInt8},
                                                            {"w8a8", WeightKind::kInt8},
                                                            {"fp8", WeightKind::kFp8},
                                                            {"bfloat16", WeightKind::k16Bit},
                                                            {"bf16", WeightKind::k16Bit},
                                                            {"float16", WeightKind::k16Bit},
                                                            {"fp16", WeightKind::k16Bit},
                                                            {"fp32", WeightKind::k32Bit}});

WeightKind kind_of(DType format) {
  switch (format) {
    case DType::kFp32:
      return WeightKind::k32Bit;
    case DType::kBf16:
    case DType::kFp16:
      return WeightKind::k16Bit;
    case DType::kFp8:
    case DType::kFp8Block:
    case DType::kFp8WeightOnly:
    case DType::kMxfp8:
      return WeightKind::kFp8;
    case DType::kInt8:
    case DType::kInt8WeightOnly:
      return WeightKind::kInt8;
    case DType::kMxfp4:
    case DType::kNvfp4:
    case DType::kNvfp4WeightOnly:
      return WeightKind::kFp4;
    case DType::kInt4:
    case DType::kInt4Group32:
    case DType::kInt4With8Bit:
      break;
  }
  return WeightKind::kInt4;
}

WeightKind kind_of(const ModelSpec& network) {
  return kind_of(model::main_weight_format(network));
}

/// Layers one by one, whatever their formats.
bool same_shape(const ModelSpec& a, const ModelSpec& b) {
  if (a.hidden_size != b.hidden_size || a.vocab_size != b.vocab_size ||
      a.num_layers() != b.num_layers()) {
    return false;
  }
  const auto layers = [](const ModelSpec& network) {
    std::vector<const LayerGroup*> all;
    for (const LayerGroup& group : network.layers) {
      all.insert(all.end(), static_cast<std::size_t>(group.count), &group);
    }
    return all;
  };
  return std::ranges::equal(
      layers(a), layers(b), [](const LayerGroup* one, const LayerGroup* other) {
        return one->attention == other->attention && one->ffn == other->ffn &&
               one->recurrent == other->recurrent;
      });
}

/// The catalogue, read once.
const std::vector<ModelSpec>& all_networks() {
  static const std::vector<ModelSpec> kAll = [] {
    std::vector<ModelSpec> all;
    for (const std::string& name : model::catalogue_names()) {
      if (auto network = model::find_model(name)) {
        all.push_back(std::move(*network));
      }
    }
    return all;
  }();
  return kAll;
}

std::size_t common_beginning(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

std::optional<WeightKind> weight_kind(std::string_view word) {
  const auto* const known =
      std::ranges::find_if(kWords, [&](const auto& pair) { return mentions(word, pair.first); });
  return known == kWords.end() ? std::nullopt : std::optional(known->second);
}

std::optional<WeightKind> kind_of_network(const std::string& network) {
  const auto spec = model::find_model(network);
  return spec ? std::optional(kind_of(*spec)) : std::nullopt;
}

std::optional<std::string> sibling_of(const std::string& network, WeightKind kind) {
  const auto spec = model::find_model(network);
  if (!spec) {
    return std::nullopt;
  }
  // Two formats may be as wide: the last by name is taken, NVFP4 and not MXFP4.
  std::optional<std::string> best;
  for (const ModelSpec& other : all_networks()) {
    if (kind_of(other) == kind && same_shape(*spec, other) &&
        (!best ||
         common_beginning(spec->name, other.name) >= common_beginning(spec->name, *best))) {
      best = other.name;
    }
  }
  return best;
}

}  // namespace ridgeline::evidence::validate
