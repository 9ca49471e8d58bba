#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine {

/// The step-time model as the step loop asks it: steps of decodes, alone or with one whole prompt,
/// are on lines (domain::AffineStep) that are asked for once and kept. The answers are the model's,
/// bit for bit.
class StepTimes {
 public:
  /// Without `keeps_lines`, every step is asked for.
  StepTimes(const latency::StepTimeModel& model, bool keeps_lines)
      : model_(model), keeps_lines_(keeps_lines) {}

  /// The line through a context; nullptr if the model has none there. Valid until the next call.
  [[nodiscard]] const domain::AffineStep* line(std::int64_t decodes, core::Tokens context);
  [[nodiscard]] domain::StepTime of(const domain::StepBatch& batch);
  /// The model answers otherwise from now on.
  void forget();

 private:
  /// A number of decodes and a prompt that were together in a step before.
  struct WithPrompt {
    std::int64_t decodes = -1;
    core::Tokens prompt;
    std::optional<domain::AffineStep> line = std::nullopt;
  };

  [[nodiscard]] const domain::AffineStep* line_with_prompt(std::int64_t decodes,
                                                           core::Tokens prompt,
                                                           core::Tokens context);

  const latency::StepTimeModel& model_;
  bool keeps_lines_;
  std::vector<std::optional<domain::AffineStep>> alone_;  ///< The last of each number of decodes.
  std::vector<WithPrompt> with_prompt_;                   ///< By a hash of both.
};

}  // namespace ridgeline::engine
