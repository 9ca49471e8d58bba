#pragma once

#include <cstdint>
#include <optional>

#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// How tokens choose experts. By default every expert is as likely.
struct ExpertChoice {
  /// Shape of the gamma law of mean 1 that the experts' popularity follows: the square of its
  /// standard deviation is 1 over this. 0: all are as popular.
  double popularity_shape = 0.0;
  /// Share of the expected experts whose weights are read.
  double streamed_fraction = 1.0;
  /// Share of the tokens that choose experts as if no other token were near; the others choose none
  /// besides.
  double fresh_share = 1.0;
  /// As in aiconfigurator's tables "power_law_1.01", instead of all that.
  bool is_published_table = false;
  /// How many get a token, where that is known, instead of all that.
  std::optional<double> experts_hit = std::nullopt;
};

/// Work of the busiest rank over that of the mean one: 1 where each rank has a part of every
/// expert. A step waits for the busiest. With few tokens it has much more than its share, at two
/// ranks and n pairs sqrt(2 / (pi * n)) more, and with popular experts however many the tokens are:
/// so many experts on a rank, of that popularity, deviate by 1 / sqrt(experts * popularity_shape).
[[nodiscard]] double busiest_share(const model::ExpertGemm& shape,
                                   std::int64_t tokens,
                                   const ExpertChoice& choice = {});

/// (token, expert) pairs of the busiest rank.
[[nodiscard]] double pairs_on_rank(const model::ExpertGemm& shape,
                                   std::int64_t tokens,
                                   const ExpertChoice& choice = {});

/// Experts of the busiest rank that `tokens` tokens are expected to hit; at least one, or less
/// where there is less than one pair.
[[nodiscard]] double expected_experts(const model::ExpertGemm& shape,
                                      std::int64_t tokens,
                                      const ExpertChoice& choice = {});

/// The mixture of experts of one layer: routing, gate and up, down, and the weighted sum
/// (docs/models/kernel.md, "Experts").
[[nodiscard]] Cost expert_gemm(const model::ExpertGemm& shape,
                               std::int64_t tokens,
                               const MatmulFormat& format,
                               const ExpertConstants& constants,
                               const ExpertChoice& choice,
                               const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
