#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/units.hpp"
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

}  // namespace ridgeline::plan
