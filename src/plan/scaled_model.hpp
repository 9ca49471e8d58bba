#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "plan/operator_class.hpp"

namespace ridgeline::plan {

/// What each class of operators takes, as a multiple of what the model says.
using OperatorScales = std::array<double, kNumOperatorClasses>;
inline constexpr OperatorScales kUnscaled = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};

/// A step-time model with errors: the time of each operator class is multiplied by a factor of its
/// own. Keeps the promise of affine(): what it says is predict(), bit for bit. A batch that `parts`
/// does not know yet is taken apart, so it suits estimates and not runs. `parts` are of the model;
/// both outlive it.
class ScaledModel final : public latency::StepTimeModel {
 public:
  ScaledModel(const latency::StepTimeModel& model,
              const StepParts& parts,
              const OperatorScales& scales)
      : model_(model), parts_(parts), scales_(scales) {}

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::vector<core::Duration> stages(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override;
  [[nodiscard]] std::optional<domain::AffineStep> affine_with_prompt(
      std::int64_t num_decodes, core::Tokens prompt, core::Tokens context) const override;
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override {
    return model_.spared_context(shared);
  }
  [[nodiscard]] bool needs_decode_lengths() const override { return model_.needs_decode_lengths(); }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override;

 private:
  [[nodiscard]] double scale_of(const latency::OperatorTime& part) const {
    return scales_[static_cast<std::size_t>(class_of(part))];
  }
  /// GPU time of a step that the model gives that total, its operators scaled.
  [[nodiscard]] core::Duration scaled_total(const domain::StepBatch& batch,
                                            core::Duration total) const;
  /// Nothing scaled but the time on a line: `batch` is the step at the line's lowest context.
  [[nodiscard]] domain::AffineStep scaled_line(const domain::AffineStep& line,
                                               domain::StepBatch batch) const;
  /// The line that an engine may have asked for in place of predict().
  [[nodiscard]] std::optional<domain::AffineStep> line_of(const domain::StepBatch& batch,
                                                          core::Tokens context) const;

  const latency::StepTimeModel& model_;
  const StepParts& parts_;
  OperatorScales scales_;
};

}  // namespace ridgeline::plan
