#pragma once

#include <cstdint>

#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// Work of the busiest rank over that of the mean one, when every expert is as likely: 1 where each
/// rank has a part of every expert. A step waits for the busiest; with few tokens it has much more
/// than its share. At two ranks and n pairs, sqrt(2 / (pi * n)) more.
[[nodiscard]] double busiest_share(const model::ExpertGemm& shape, std::int64_t tokens);

/// (token, expert) pairs of the busiest rank.
[[nodiscard]] double pairs_on_rank(const model::ExpertGemm& shape, std::int64_t tokens);

/// Experts of the busiest rank that `tokens` tokens are expected to hit; at least one, or less
/// where there is less than one pair. `fresh_share` of the tokens choose experts as if no other
/// token were near; the others choose none besides.
[[nodiscard]] double expected_experts(const model::ExpertGemm& shape,
                                      std::int64_t tokens,
                                      double fresh_share = 1.0);

/// The mixture of experts of one layer: routing, gate and up, down, and the weighted sum
/// (docs/models/kernel.md, "Experts"). `streamed_fraction` is the share of the expected experts
/// whose weights are really read, `fresh_share` as in expected_experts().
[[nodiscard]] Cost expert_gemm(const model::ExpertGemm& shape,
                               std::int64_t tokens,
                               const MatmulFormat& format,
                               const ExpertConstants& constants,
                               double streamed_fraction,
                               const hardware::GpuSpec& gpu,
                               double fresh_share = 1.0);

}  // namespace ridgeline::latency::kernel
