#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::test {

/// A step-time model whose every number a test can do by hand:
/// overhead `step` + compute `per_token` for each token + memory `per_context` for each token of
/// context.
class LinearModel final : public latency::StepTimeModel {
 public:
  struct Costs {
    core::Duration step = core::Duration::microseconds(1000);
    core::Duration per_token = core::Duration::microseconds(10);
    core::Duration per_context = core::Duration::microseconds(0);
    /// Width of the ranges in which affine() says it holds; 0: everywhere.
    std::int64_t bin = 0;
    bool affine = true;
  };

  LinearModel() = default;
  explicit LinearModel(const Costs& costs) : costs_(costs) {}

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override {
    std::int64_t context =
        std::max(batch.decode_context - spared_context(batch.shared_context), core::Tokens(0))
            .value();
    for (const auto& chunk : batch.prefills) {
      context += chunk.past.value();
    }
    domain::StepTime time;
    time.add(domain::Bottleneck::kOverhead, costs_.step);
    time.add(domain::Bottleneck::kCompute, costs_.per_token * batch.num_tokens().value());
    time.add(domain::Bottleneck::kMemory, costs_.per_context * context);
    return time;
  }

  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override {
    domain::StepBatch batch;
    batch.num_decodes = num_decodes;
    return line_of(batch, context);
  }
  [[nodiscard]] std::optional<domain::AffineStep> affine_with_prompt(
      std::int64_t num_decodes, core::Tokens prompt, core::Tokens context) const override {
    const domain::PrefillChunk whole{.past = {}, .new_tokens = prompt};
    domain::StepBatch batch;
    batch.num_decodes = num_decodes;
    batch.prefills = {&whole, 1};
    return line_of(batch, context);
  }

  /// A third of what is shared.
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override {
    return core::Tokens(shared.value() / 3);
  }

  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    latency::Explanation explanation;
    explanation.total = predict(batch);
    return explanation;
  }

 private:
  [[nodiscard]] std::optional<domain::AffineStep> line_of(const domain::StepBatch& no_context,
                                                          core::Tokens context) const {
    if (!costs_.affine) {
      return std::nullopt;
    }
    domain::AffineStep step;
    step.base = predict(no_context);
    step.slope = costs_.per_context;
    step.lowest = core::Tokens(0);
    step.highest = core::Tokens(std::numeric_limits<std::int64_t>::max() / 4);
    if (costs_.bin > 0) {
      const std::int64_t bin = context.value() / costs_.bin;
      step.lowest = core::Tokens(bin * costs_.bin);
      step.highest = core::Tokens((bin + 1) * costs_.bin - 1);
    }
    return step;
  }

  Costs costs_;
};

}  // namespace ridgeline::test
