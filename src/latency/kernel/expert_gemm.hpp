#pragma once

#include <cstdint>

#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// Experts of a rank that `tokens` tokens are expected to hit when every expert is as likely; at
/// least one, or less where there is less than one (token, expert) pair.
[[nodiscard]] double expected_experts(const model::ExpertGemm& shape, std::int64_t tokens);

/// The mixture of experts of one layer: routing, gate and up, down, and the weighted sum
/// (docs/models/kernel.md, "Experts"). `streamed_fraction` is the share of the expected experts
/// whose weights are really read.
[[nodiscard]] Cost expert_gemm(const model::ExpertGemm& shape,
                               std::int64_t tokens,
                               const MatmulFormat& format,
                               const ExpertConstants& constants,
                               double streamed_fraction,
                               const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
