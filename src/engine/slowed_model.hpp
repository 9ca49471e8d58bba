#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine {

/// By how much steps take longer than the model says, in thousandths: a GPU that is too hot, or
/// shares its node with another tenant.
struct Slowdown {
  static constexpr std::int64_t kWhole = 1000;
  std::int64_t thousandths = kWhole;

  friend bool operator==(const Slowdown&, const Slowdown&) = default;
};

/// A step-time model whose predictions are stretched by a factor, which may change during a run.
/// Keeps the promise of affine(): what it says is predict(), bit for bit.
class SlowedModel final : public latency::StepTimeModel {
 public:
  explicit SlowedModel(const latency::StepTimeModel& model) : model_(model) {}

  void set_slowdown(Slowdown slowdown) { slowdown_ = slowdown; }

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
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    return model_.explain(batch);
  }

 private:
  [[nodiscard]] core::Duration stretched(core::Duration time) const;
  [[nodiscard]] domain::StepTime stretched(const domain::StepTime& time) const;
  [[nodiscard]] std::optional<domain::AffineStep> stretched(
      std::optional<domain::AffineStep> line) const;
  [[nodiscard]] std::optional<domain::AffineStep> line_of(const domain::StepBatch& batch,
                                                          core::Tokens context) const;

  const latency::StepTimeModel& model_;
  Slowdown slowdown_;
};

}  // namespace ridgeline::engine
