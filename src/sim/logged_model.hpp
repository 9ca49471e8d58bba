#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::sim {

/// A step-time model as one run sees it: predicts what the model behind it predicts, and keeps what
/// this run's predictions met. Belongs to one run on one thread; the model may serve others.
class LoggedModel final : public latency::StepTimeModel {
 public:
  explicit LoggedModel(const latency::StepTimeModel& model) : model_(model) {}

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    return model_.predict_logged(batch, log_);
  }
  [[nodiscard]] std::vector<core::Duration> stages(const domain::StepBatch& batch) const override {
    return model_.stages(batch);
  }
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override;
  [[nodiscard]] std::optional<domain::AffineStep> affine_with_prompt(
      std::int64_t num_decodes, core::Tokens prompt, core::Tokens context) const override;
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override {
    return model_.spared_context(shared);
  }
  [[nodiscard]] bool needs_decode_lengths() const override { return model_.needs_decode_lengths(); }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    return model_.explain(batch);
  }

  [[nodiscard]] const latency::LookupLog& lookups() const { return log_; }

 private:
  const latency::StepTimeModel& model_;
  mutable latency::LookupLog log_;  // One run is on one thread.
};

}  // namespace ridgeline::sim
