#pragma once

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {

/// Whether some layer has routed experts.
[[nodiscard]] bool has_experts(const ModelSpec& network);

/// The format of most of a network's weights: its routed experts', else that of the feed-forward
/// network that most layers have.
[[nodiscard]] DType main_weight_format(const ModelSpec& network);

}  // namespace ridgeline::model
