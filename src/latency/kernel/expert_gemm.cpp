#include "latency/kernel/expert_gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/math.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Two per multiply-add.
constexpr double kFlopsPerWeight = 2.0;
/// Activations that a (token, expert) pair moves: rows of `hidden` and of `width`, each three times
/// in 16 bit.
constexpr double kPairBytesPerElement = 6.0;

/// Expected largest of 2, 4, ... 256 independent standard normal variables (H. L. Harter, "Expected
/// values of normal order statistics", Biometrika 48, 1961).
constexpr std::array<double, 8> kLargestNormal = {
    0.5642, 1.0294, 1.4236, 1.7660, 2.0697, 2.3437, 2.5946, 2.8269};

/// What a kernel's matrices have more elements than the network's. vLLM rounds the hidden size of
/// MXFP4 experts up to a multiple of 256 and their width to one of 128 for Marlin, whose sets state
/// warp_macs, and of 256 for FlashInfer's kernels on Blackwell (mxfp4.py).
double padding(const model::ExpertGemm& shape,
               const ExpertConstants& constants,
               const hardware::GpuSpec& gpu) {
  constexpr double kHiddenMultiple = 256.0;
  constexpr double kMarlinMultiple = 128.0;
  constexpr double kFlashInferMultiple = 256.0;
  const bool is_marlin = constants.warp_macs.has_value();
  if (shape.weights != model::DType::kMxfp4 || !(is_marlin || gpu.architecture == "blackwell")) {
    return 1.0;
  }
  const auto share = [](double size, double multiple) {
    return std::ceil(size / multiple) * multiple / size;
  };
  return share(real(shape.hidden), kHiddenMultiple) *
         share(real(shape.width), is_marlin ? kMarlinMultiple : kFlashInferMultiple);
}

core::FlopsPerSecond peak_of(const MatmulFormat& format,
                             const ExpertConstants& constants,
                             const hardware::GpuSpec& gpu) {
  constexpr double kHertz = 1e9;
  if (!constants.warp_macs) {
    return format.peak;
  }
  return std::min(format.peak,
                  core::FlopsPerSecond(kFlopsPerWeight * *constants.warp_macs * real(gpu.num_sms) *
                                       gpu.clock_ghz * kHertz));
}

/// Moving the pairs' activations between kernels.
struct PairTime {
  core::Seconds time;
  domain::Bottleneck kind = domain::Bottleneck::kMemory;
};

PairTime pair_time(core::Bytes activations,
                   const ExpertConstants& constants,
                   const hardware::GpuSpec& gpu) {
  const core::Bytes moved = activations * constants.pair_traffic_factor;
  if (!constants.multiprocessor) {
    return {.time = moved / gpu.mem_bandwidth};
  }
  const core::Seconds worked = moved / (*constants.multiprocessor * real(gpu.num_sms));
  const core::Seconds streamed = activations / gpu.mem_bandwidth;
  return worked < streamed ? PairTime{.time = streamed}
                           : PairTime{.time = worked, .kind = domain::Bottleneck::kCompute};
}

/// The tile that Marlin takes for so many rows per expert (vLLM: fused_marlin_moe.py).
double marlin_rows(double rows_per_expert) {
  constexpr std::array<double, 4> kSmallTiles = {8.0, 16.0, 32.0, 48.0};
  constexpr double kLargestTile = 64.0;
  constexpr double kFull = 0.9;
  const auto* const tile = std::find_if(kSmallTiles.begin(), kSmallTiles.end(), [&](double rows) {
    return rows_per_expert / rows < kFull;
  });
  return tile == kSmallTiles.end() ? kLargestTile : *tile;
}

/// Rows of the tiles in which a kernel multiplies: Marlin's, or Triton's (vLLM: get_default_config
/// in fused_moe.py; tuned shapes that are scaled in blocks take the small tile for few tokens too).
double tile_rows_of(const model::ExpertGemm& shape,
                    std::int64_t tokens,
                    double rows_per_expert,
                    const ExpertConstants& constants) {
  constexpr double kRows = 64.0;
  constexpr double kRowsOfFewTokens = 16.0;
  if (constants.tile_share) {
    return marlin_rows(rows_per_expert);
  }
  return tokens * shape.token_sources <= shape.experts ? kRowsOfFewTokens : kRows;
}

/// Rows that fill the tiles of so many pairs on so many experts: a half of the last tile of each,
/// and more where a tile holds all.
double padding_rows(double pairs, double hit, double tile_rows) {
  const double tiles = std::max(1.0, pairs / (hit * tile_rows) + 0.5);
  return std::max(0.0, hit * tiles * tile_rows - pairs);
}

/// Experts that get a token in aiconfigurator's tables "power_law_1.01" (collector/helper.py,
/// power_law_logits_v3): each expert draws a weight from a power law, from 1 to 0.8 times the
/// tokens where there are more pairs than experts, else from 0.01 to 2; its pairs are its part of
/// all, rounded, and what rounding leaves over goes one by one to the first ones.
double published_hits(double pairs, double experts, double tokens) {
  constexpr double kPower = 1.0 - 1.01;
  const bool many = pairs > experts;
  const double low = many ? 1.0 : 0.01;
  const double high = many ? 0.8 * tokens : 2.0;
  const double low_end = core::pow(low, kPower);
  const double span = core::pow(high, kPower) - low_end;
  const double mean = kPower / (kPower + 1.0) *
                      (core::pow(high, kPower + 1.0) - core::pow(low, kPower + 1.0)) / span;
  const double scale = pairs / (experts * mean);
  // Share of the experts with at least so many pairs.
  const auto at_least = [&](double count) {
    const double weight = (count - 0.5) / scale;
    return weight <= low    ? 1.0
           : weight >= high ? 0.0
                            : 1.0 - (core::pow(weight, kPower) - low_end) / span;
  };
  double hit = experts * at_least(1.0);
  if (!many) {
    double rounded = 0.0;
    for (double count = 1.0; at_least(count) > 0.0; ++count) {
      rounded += experts * at_least(count);
    }
    hit = std::max(hit, std::min(pairs - rounded, experts));
  }
  return std::max(hit, std::min(1.0, pairs));
}

/// By how many standard deviations the busiest of so many ranks exceeds the mean. The counts of the
/// ranks sum to a constant, which stretches independent deviations by sqrt(n / (n - 1)).
double busiest_deviations(double ranks) {
  double largest = 0.0;
  double power = 2.0;
  for (std::size_t i = 0; i < kLargestNormal.size(); ++i, power *= 2.0) {
    if (ranks <= power || i + 1 == kLargestNormal.size()) {
      const double below = i == 0 ? 0.0 : kLargestNormal[i - 1];
      const double share = std::min(1.0, (ranks - power / 2.0) / (power / 2.0));
      largest = below + (kLargestNormal[i] - below) * share;
      break;
    }
  }
  return largest * std::sqrt(ranks / (ranks - 1.0));
}

}  // namespace

double busiest_share(const model::ExpertGemm& shape,
                     std::int64_t tokens,
                     const ExpertChoice& choice) {
  const double pairs = real(tokens * shape.token_sources) * real(shape.experts_per_token);
  const double ranks = real(shape.experts) / real(shape.experts_on_rank);
  if (ranks <= 1.0 || pairs <= 0.0) {
    return 1.0;
  }
  const double mean = pairs / ranks;
  const double popular = choice.popularity_shape > 0.0
                             ? 1.0 / (choice.popularity_shape * real(shape.experts_on_rank))
                             : 0.0;
  const double deviation = std::sqrt((mean + popular * mean * mean) * (1.0 - 1.0 / ranks));
  const double busiest = mean + busiest_deviations(ranks) * deviation;
  // A rank has whole pairs, and each token has at most experts_per_token on it.
  return std::clamp(busiest, std::min(1.0, pairs), pairs) / mean;
}

double expected_experts(const model::ExpertGemm& shape,
                        std::int64_t tokens,
                        const ExpertChoice& choice) {
  const double pairs = pairs_on_rank(shape, tokens, choice);
  const double held = real(shape.experts_on_rank);
  if (choice.experts_hit) {
    return *choice.experts_hit;
  }
  if (choice.is_published_table) {
    return published_hits(pairs, held, real(tokens * shape.token_sources));
  }
  // The busiest rank is so by a few popular experts, whose weights are read once: of other experts
  // it hits no more than where all are as popular.
  const double missed_by_one = 1.0 - real(shape.experts_per_token) / real(shape.experts);
  const double drawn =
      choice.fresh_share * real(tokens * shape.token_sources) * busiest_share(shape, tokens);
  const double shape_of_law = choice.popularity_shape;
  const double missed =
      shape_of_law > 0.0 && missed_by_one > 0.0
          // The mean of missed_by_one^(drawn * popularity).
          ? core::pow(1.0 - drawn * core::log(missed_by_one) / shape_of_law, -shape_of_law)
          : core::pow(std::max(0.0, missed_by_one), drawn);
  return std::max(std::min(held, held * (1.0 - missed)), std::min(1.0, pairs));
}

double pairs_on_rank(const model::ExpertGemm& shape,
                     std::int64_t tokens,
                     const ExpertChoice& choice) {
  return real(tokens * shape.token_sources) * real(shape.experts_per_token) *
         real(shape.experts_on_rank) / real(shape.experts) * busiest_share(shape, tokens, choice);
}

Cost expert_gemm(const model::ExpertGemm& shape,
                 std::int64_t tokens,
                 const MatmulFormat& format,
                 const ExpertConstants& constants,
                 const ExpertChoice& choice,
                 const hardware::GpuSpec& gpu) {
  const double pairs = pairs_on_rank(shape, tokens, choice);
  const double hit = expected_experts(shape, tokens, choice);
  const double streamed = choice.streamed_fraction * hit;
  const double elements = real(shape.hidden) * real(shape.width);
  const double matrices = real(shape.matrices);
  const core::Bytes weights(streamed * matrices * elements * format.weight_bytes);
  const core::Bytes activations(pairs * kPairBytesPerElement *
                                (real(shape.hidden) + real(shape.width)));
  const core::Flops flops(kFlopsPerWeight * matrices * elements * pairs);
  const bool few = constants.few_tokens && tokens * shape.token_sources <= shape.experts_on_rank;
  const double wasted_rows =
      constants.tile_share
          ? *constants.tile_share * marlin_rows(pairs / real(shape.experts_on_rank))
          : constants.tile_rows;
  const FewTokenTiles tiles =
      few ? *constants.few_tokens
          : FewTokenTiles{.compute_efficiency = constants.compute_efficiency,
                          .tile_rows = wasted_rows};
  const core::Flops wasted(kFlopsPerWeight * matrices * elements * tiles.tile_rows *
                           std::min(hit, pairs));
  const double padded = padding(shape, constants, gpu);
  const double filling =
      hit > 0.0 ? padding_rows(
                      pairs,
                      hit,
                      tile_rows_of(shape, tokens, pairs / real(shape.experts_on_rank), constants))
                : 0.0;
  const core::Seconds memory = weights * padded / streaming_rate(constants, gpu);
  const core::Seconds compute =
      (flops + wasted) * padded / (peak_of(format, constants, gpu) * tiles.compute_efficiency);
  const core::Seconds launches = constants.fixed + constants.per_expert * streamed;
  const PairTime pairs_moved = pair_time(activations, constants, gpu);
  return {
      .time = launches + soft_max(memory, compute, constants.overlap_exponent) + pairs_moved.time,
      .flops = flops,
      .bytes = weights + activations,
      .kind =
          Terms()
              .add(domain::Bottleneck::kOverhead, launches)
              .add_larger(
                  streaming_limit(constants, gpu), memory, domain::Bottleneck::kCompute, compute)
              .add(pairs_moved.kind, pairs_moved.time)
              .largest(),
      .losing = {},
      .side = roofline_side(flops, weights + activations, format.peak, gpu.mem_bandwidth),
      // In the energy of 16-bit products: those of a format with twice the peak take half.
      .padding = core::Flops(kFlopsPerWeight * matrices * elements * filling *
                             (gpu.peak_bf16 / format.peak)),
      .compute = compute,
      .memory = memory,
      .weights = weights};
}

}  // namespace ridgeline::latency::kernel
