#include "latency/kernel/expert_gemm.hpp"

#include <algorithm>
#include <cstdint>

#include "core/math.hpp"
#include "core/units.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Two per multiply-add.
constexpr double kFlopsPerWeight = 2.0;
/// Activations that a (token, expert) pair moves: rows of `hidden` and of `width`, each three times
/// in 16 bit.
constexpr double kPairBytesPerElement = 6.0;

double pairs_on_rank(const model::ExpertGemm& shape, std::int64_t tokens) {
  return real(tokens) * real(shape.token_sources) * real(shape.experts_per_token) *
         real(shape.experts_on_rank) / real(shape.experts);
}

}  // namespace

double expected_experts(const model::ExpertGemm& shape, std::int64_t tokens) {
  const double missed_by_one = 1.0 - real(shape.experts_per_token) / real(shape.experts);
  const double held = real(shape.experts_on_rank);
  const double hit =
      held * (1.0 - core::pow(std::max(0.0, missed_by_one), real(tokens * shape.token_sources)));
  return std::max(std::min(held, hit), std::min(1.0, pairs_on_rank(shape, tokens)));
}

Cost expert_gemm(const model::ExpertGemm& shape,
                 std::int64_t tokens,
                 const MatmulFormat& format,
                 const ExpertConstants& constants,
                 double streamed_fraction,
                 const hardware::GpuSpec& gpu) {
  const double pairs = pairs_on_rank(shape, tokens);
  const double hit = expected_experts(shape, tokens);
  const double streamed = streamed_fraction * hit;
  const double elements = real(shape.hidden) * real(shape.width);
  const double matrices = real(shape.matrices);
  const core::Bytes weights(streamed * matrices * elements * format.weight_bytes);
  const core::Bytes activations(pairs * kPairBytesPerElement *
                                (real(shape.hidden) + real(shape.width)));
  const core::Flops flops(kFlopsPerWeight * matrices * elements * pairs);
  const core::Flops wasted(kFlopsPerWeight * matrices * elements * constants.tile_rows *
                           std::min(hit, pairs));
  const core::Seconds memory = weights / (gpu.mem_bandwidth * constants.bandwidth_efficiency);
  const core::Seconds compute = (flops + wasted) / (format.peak * constants.compute_efficiency);
  return {.time = constants.fixed + constants.per_expert * streamed +
                  soft_max(memory, compute, constants.overlap_exponent) +
                  activations * constants.pair_traffic_factor / gpu.mem_bandwidth,
          .flops = flops,
          .bytes = weights + activations,
          .kind = roofline_side(flops, weights + activations, format.peak, gpu.mem_bandwidth),
          .losing = {}};
}

}  // namespace ridgeline::latency::kernel
