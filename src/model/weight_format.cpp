#include "model/weight_format.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

bool is_routed(const LayerGroup& group) {
  return std::holds_alternative<MoeFfn>(group.ffn);
}

}  // namespace

bool has_experts(const ModelSpec& network) {
  return std::ranges::any_of(network.layers, is_routed);
}

std::string_view kind_of_layers(const ModelSpec& network) {
  const bool is_hybrid = std::ranges::any_of(
      network.layers, [](const LayerGroup& group) { return group.recurrent.has_value(); });
  return is_hybrid ? "hybrid" : has_experts(network) ? "experts" : "dense";
}

DType main_weight_format(const ModelSpec& network) {
  const bool routed = has_experts(network);
  const LayerGroup* most = nullptr;
  for (const LayerGroup& group : network.layers) {
    if (is_routed(group) == routed && (most == nullptr || group.count > most->count)) {
      most = &group;
    }
  }
  return most != nullptr && most->precision ? most->precision->ffn : network.precision.ffn;
}

}  // namespace ridgeline::model
