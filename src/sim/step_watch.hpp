#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::sim {

/// A step, or a run of steps of one composition, with every operator's time in it.
struct StepSegment {
  domain::StepRecord record;
  std::vector<domain::PrefillChunk> prefills;
  core::Duration busy;  ///< Time of all its steps; the parts and `rounding` sum to it.
  /// All steps together; the host time that the GPU waits for is a part too.
  std::vector<latency::OperatorTime> parts;
  /// Explanation::hidden, likewise; none where it is another at the last step than at the first.
  std::vector<latency::OperatorTime> hidden;
  core::Seconds rounding;
};

/// Gets every segment as it is launched.
class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void on_segment(const StepSegment& segment) = 0;
};

/// A step-time model that remembers the batch it last priced, so that the step's record can be
/// taken apart. Predicts what the model it stands before predicts.
class StepWatch final : public latency::StepTimeModel {
 public:
  explicit StepWatch(const latency::StepTimeModel& model) : model_(model) {}

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override;
  [[nodiscard]] std::vector<core::Duration> stages(const domain::StepBatch& batch) const override {
    return model_.stages(batch);
  }
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override {
    return model_.affine(num_decodes, context);
  }
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override {
    return model_.spared_context(shared);
  }
  [[nodiscard]] bool needs_decode_lengths() const override { return model_.needs_decode_lengths(); }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    return model_.explain(batch);
  }

  /// The parts of the steps of a record: the last batch priced when it is one step, else decodes
  /// alone, whose parts are straight lines in the context sum.
  [[nodiscard]] StepSegment segment(const domain::StepRecord& record) const;

 private:
  const latency::StepTimeModel& model_;
  // One engine runs on one thread.
  mutable std::int64_t num_decodes_ = 0;
  mutable core::Tokens context_;
  mutable core::Tokens shared_;
  mutable std::vector<core::Tokens> lengths_;
  mutable std::vector<domain::PrefillChunk> prefills_;
};

}  // namespace ridgeline::sim
