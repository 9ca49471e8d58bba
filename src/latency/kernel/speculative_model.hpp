#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "domain/draft_level.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::kernel {

/// Speculative decoding: a step of the target, which verifies the drafts that its chunks carry
/// (domain::PrefillChunk::drafts), and then the passes of the drafting network that propose the
/// next ones. The first of these reads every token of the step, so that the drafting network has
/// their cache; each further one a token of every sequence that sampled. How many drafts are
/// accepted is the engine's affair (docs/models/kernel.md, "Speculative decoding").
class SpeculativeModel final : public StepTimeModel {
 public:
  /// `draft` is empty where no network drafts (n-grams). `num_drafts` is at least 1; `levels` say
  /// how many there are by the number of requests in the step.
  SpeculativeModel(std::unique_ptr<StepTimeModel> target,
                   std::unique_ptr<StepTimeModel> draft,
                   std::int64_t num_drafts,
                   core::Warning note,
                   std::vector<domain::DraftLevel> levels = {},
                   DraftChain chain = {});

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override;
  [[nodiscard]] domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                LookupLog& log) const override;
  [[nodiscard]] bool logs() const override { return target_->logs(); }
  [[nodiscard]] core::Warnings findings(const LookupLog& log) const override {
    return target_->findings(log);
  }
  [[nodiscard]] Explanation explain(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::vector<ModelSetting> settings() const override { return target_->settings(); }
  [[nodiscard]] core::Warnings notes() const override;

 private:
  /// Shows each pass of the drafting network after a step, in order.
  void each_pass(const domain::StepBatch& batch,
                 const std::function<void(const domain::StepBatch&)>& visit) const;

  std::unique_ptr<StepTimeModel> target_;
  std::unique_ptr<StepTimeModel> draft_;
  std::int64_t num_drafts_;
  core::Warning note_;
  std::vector<domain::DraftLevel> levels_;
  DraftChain chain_;
};

}  // namespace ridgeline::latency::kernel
