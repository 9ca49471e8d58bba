#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::kernel {

/// Pipeline parallelism: every stage is a network of its own, its layers on its own GPUs, and hands
/// its hidden states to the next. predict() is a step's way through all of them; stages() says how
/// long each is taken, so that the engine can have other steps in the others meanwhile
/// (docs/models/kernel.md, "Pipeline").
class PipelineModel final : public StepTimeModel {
 public:
  /// The inputs are checked (make_kernel_model); the GPU outlives the model.
  PipelineModel(const ModelInputs& inputs, const Constants& constants);

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::vector<core::Duration> stages(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override;
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override {
    return stages_.front()->spared_context(shared);
  }
  [[nodiscard]] domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                LookupLog& log) const override;
  [[nodiscard]] bool logs() const override { return stages_.front()->logs(); }
  [[nodiscard]] core::Warnings findings(const LookupLog& log) const override {
    return stages_.front()->findings(log);
  }
  [[nodiscard]] Explanation explain(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::vector<ModelSetting> settings() const override;
  [[nodiscard]] core::Warnings notes() const override { return stages_.front()->notes(); }

 private:
  /// Hidden states on their way out of a stage; nothing leaves the last.
  [[nodiscard]] core::Duration sending(std::size_t stage, std::int64_t tokens) const;
  [[nodiscard]] domain::StepTime of_stage(std::size_t stage, const domain::StepBatch& batch) const;

  std::vector<std::unique_ptr<KernelModel>> stages_;
  Calibration calibration_;
  hardware::GpuSpec link_;
  std::int64_t width_ = 0;
};

}  // namespace ridgeline::latency::kernel
