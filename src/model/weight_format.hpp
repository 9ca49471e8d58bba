#pragma once

#include <string_view>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {

/// Whether some layer has routed experts.
[[nodiscard]] bool has_experts(const ModelSpec& network);

/// "hybrid" where some layer keeps a recurrent state, else "experts" where some layer has routed
/// experts, else "dense".
[[nodiscard]] std::string_view kind_of_layers(const ModelSpec& network);

/// The format of most of a network's weights: its routed experts', else that of the feed-forward
/// network that most layers have.
[[nodiscard]] DType main_weight_format(const ModelSpec& network);

}  // namespace ridgeline::model
