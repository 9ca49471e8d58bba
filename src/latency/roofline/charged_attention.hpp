#pragma once

#include <optional>

#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::roofline {

/// What a step's decodes are charged for attention, beside what they do: some states of V2 count
/// every sequence as the longest.
struct ChargedAttention {
  double flops = 0.0;      ///< Charged, all layers and ranks.
  double own_flops = 0.0;  ///< For the contexts as they are.
  /// Charged to the shortest sequence, over its own.
  double shortest_ratio = 1.0;
};

/// V2's charge; nothing for other models, and for steps without decodes of known lengths.
[[nodiscard]] std::optional<ChargedAttention> charged_attention(const StepTimeModel& model,
                                                                const domain::StepBatch& batch);

}  // namespace ridgeline::latency::roofline
