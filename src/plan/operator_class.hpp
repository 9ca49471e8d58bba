#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "domain/step.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::plan {

/// Operators whose errors go together, since one kind of kernel, or one constant, prices them.
enum class OperatorClass : std::uint8_t {
  kGemm,
  kPrefillAttention,  ///< With indexers and recurrences, as the next.
  kDecodeAttention,
  kExperts,
  kCommunication,
  kElementwise,
  kSampling,
  kGaps,  ///< Between kernels and steps.
};
inline constexpr std::size_t kNumOperatorClasses = 8;
/// As data/accuracy/operators.yaml and people call them.
inline constexpr std::array<std::string_view, kNumOperatorClasses> kOperatorClassNames = {
    "GEMM",
    "prefill attention",
    "decode attention",
    "experts",
    "all-reduce",
    "element-wise",
    "sampling",
    "launch gaps"};

/// The class of an operator, by the names that step-time models give their operators. What has no
/// name of another class is a product of matrices.
[[nodiscard]] OperatorClass class_of(const latency::OperatorTime& part);

/// Seconds by class; they sum to a step's GPU time, but for its rounding.
using TimeByClass = std::array<double, kNumOperatorClasses>;
[[nodiscard]] TimeByClass time_by_class(const latency::Explanation& step);

/// time_by_class() of steps by their batch, each taken apart once: slow at first, then a look-up.
/// The model outlives it. Threads may share it.
class StepParts {
 public:
  explicit StepParts(const latency::StepTimeModel& model) : model_(model) {}

  [[nodiscard]] TimeByClass of(const domain::StepBatch& batch) const;

 private:
  const latency::StepTimeModel& model_;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::int64_t>, TimeByClass> known_;
};

}  // namespace ridgeline::plan
