#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::kernel {

/// Context parallelism of prompts: ranks share out each prompt's new tokens, and gather the keys
/// and values of all of them in every layer. Decodes run on every rank alike
/// (docs/models/kernel.md, "Context parallelism").
class ContextParallelModel final : public StepTimeModel {
 public:
  /// The inputs are checked (make_kernel_model); the GPU outlives the model.
  ContextParallelModel(const ModelInputs& inputs, const Constants& constants);

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override;
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override {
    return rank_.spared_context(shared);
  }
  [[nodiscard]] domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                LookupLog& log) const override;
  [[nodiscard]] bool logs() const override { return rank_.logs(); }
  [[nodiscard]] core::Warnings findings(const LookupLog& log) const override {
    return rank_.findings(log);
  }
  [[nodiscard]] Explanation explain(const domain::StepBatch& batch) const override;
  [[nodiscard]] core::Warnings notes() const override { return rank_.notes(); }
  [[nodiscard]] std::vector<ModelSetting> settings() const override { return rank_.settings(); }

 private:
  /// One rank's share of each prompt: as many (query, key) pairs, whichever way they are handed
  /// out.
  [[nodiscard]] std::vector<domain::PrefillChunk> share(const domain::StepBatch& batch) const;
  [[nodiscard]] Cost gathering(const domain::StepBatch& batch) const;

  std::int64_t ranks_;
  Calibration calibration_;
  hardware::GpuSpec link_;
  std::int64_t layers_;
  core::BytesPerToken kv_;
  KernelModel rank_;
};

}  // namespace ridgeline::latency::kernel
