#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::kernel {

/// Weights that are copied from the host in every step, ahead of their layers' turn: a step takes
/// no less time than its copies (docs/models/kernel.md, "Weights on the host").
class HostWeightsModel final : public StepTimeModel {
 public:
  HostWeightsModel(std::unique_ptr<StepTimeModel> step, const HostWeights& weights);

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override;
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override {
    return step_->spared_context(shared);
  }
  [[nodiscard]] domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                LookupLog& log) const override;
  [[nodiscard]] bool logs() const override { return step_->logs(); }
  [[nodiscard]] core::Warnings findings(const LookupLog& log) const override {
    return step_->findings(log);
  }
  [[nodiscard]] Explanation explain(const domain::StepBatch& batch) const override;
  [[nodiscard]] core::Warnings notes() const override { return step_->notes(); }
  [[nodiscard]] std::vector<ModelSetting> settings() const override { return step_->settings(); }

 private:
  std::unique_ptr<StepTimeModel> step_;
  core::Bytes bytes_;
  core::Duration copy_;
};

}  // namespace ridgeline::latency::kernel
