#include "latency/roofline/constant_mfu.hpp"

#include "core/math.hpp"
#include "domain/step.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/roofline/switches.hpp"

namespace ridgeline::latency::roofline {
namespace {

constexpr double kTera = 1e12;
/// V0's share of the peak for work outside the tensor cores; V1 made it a constant.
constexpr double kVectorShareOfV0 = 0.10;
/// All-reduces of a layer: after attention and after the feed-forward network.
constexpr double kAllReducesPerLayer = 2.0;

// FLOPs that the vector units do, per query token, head and context token.
constexpr double kScores = 2.0;   // QK^T, times head_dim
constexpr double kValues = 2.0;   // AV, times head_dim
constexpr double kSoftmax = 4.0;  // V1
constexpr double kSoftmaxV0 = 5.0;
constexpr double kRopeV0 = 2.0;  // times hidden

}  // namespace

ConstantMfuRoofline::ConstantMfuRoofline(Version version,
                                         const Network& network,
                                         const Constants& constants,
                                         double tensor_parallel_size,
                                         double ridge_point)
    : version_(version),
      network_(network),
      peak_(constants.tflops_peak * kTera),
      vector_peak_(peak_ *
                   (version == Version::kV0 ? kVectorShareOfV0 : constants.vector_peak_fraction)),
      tensor_parallel_size_(tensor_parallel_size),
      ridge_point_(ridge_point),
      constants_(constants) {
  const double bandwidth = constants.bandwidth_peak_tbs * kTera * constants.bandwidth_constant;
  const double tp = tensor_parallel_size;
  if (version == Version::kV0) {
    prefill_ = {constants.mfu_prefill, bandwidth, tp, tp};
    decode_ = {constants.mfu_decode, bandwidth, tp, tp};
    return;
  }
  const double decode_exponent =
      constants.decode_tp_exponent == 0.0 ? 1.0 : constants.decode_tp_exponent;
  const double decode_ranks = core::pow(tp, decode_exponent);
  prefill_ = {constants.mfu_prefill * constants.mfu_prefill_multiplier,
              bandwidth * constants.prefill_bandwidth_factor,
              core::pow(tp, constants.tp_exponent),
              tp};
  decode_ = {constants.mfu_decode * constants.mfu_decode_multiplier,
             bandwidth * constants.decode_bandwidth_factor,
             decode_ranks,
             decode_ranks};
}

PhaseCost ConstantMfuRoofline::phase(const Sums& one,
                                     const Sums& many,
                                     const PhaseConstants& by) const {
  const Network& n = network_;
  const double tokens = one.new_tokens + many.new_tokens;
  const double pairs = one.pairs + many.pairs;
  const double per_token = 2.0 * (n.hidden * n.hidden + 2.0 * n.hidden * n.kv_width()) +
                           2.0 * n.hidden * n.hidden + 6.0 * n.hidden * n.width;
  double gemm = per_token * tokens * n.layers;
  const double core_attention = (kScores + kValues) * n.heads * n.head_dim * pairs * n.layers;
  double vector = core_attention + kSoftmax * n.heads * pairs * n.layers;
  double attention_flops = vector;
  if (version_ == Version::kV0) {
    // V0 gives the attention core to the tensor cores.
    vector = (kSoftmaxV0 * n.heads * pairs + kRopeV0 * n.hidden * tokens) * n.layers;
    attention_flops = core_attention + vector;
  }
  const ByteFactors with_factors = version_ == Version::kV1 ? ByteFactors() : ByteFactors::none();
  const double dynamic = dynamic_bytes(n, one.context, one.new_tokens, true, with_factors) +
                         dynamic_bytes(n, many.context, many.new_tokens, false, with_factors);

  PhaseCost cost;
  cost.present = true;
  cost.gemm = gemm / by.compute_ranks / (peak_ * by.mfu);
  cost.attention = vector / by.compute_ranks / vector_peak_;
  if (version_ == Version::kV0) {
    cost.attention += core_attention / by.compute_ranks / (peak_ * by.mfu);
  }
  cost.weights = n.weight_bytes().value() / by.memory_ranks / by.bandwidth;
  cost.dynamic = dynamic / by.memory_ranks / by.bandwidth;
  cost.gemm_work = {gemm, n.weight_bytes().value()};
  cost.attention_work = {attention_flops, dynamic};
  for (Work* work : {&cost.gemm_work, &cost.attention_work}) {
    work->flops /= tensor_parallel_size_;
    work->bytes /= tensor_parallel_size_;
  }
  const auto right_of_ridge = [&](const Work& work) {
    return work.flops > work.bytes * ridge_point_;
  };
  cost.gemm_compute = right_of_ridge(cost.gemm_work) ? cost.gemm : 0.0;
  cost.attention_compute = right_of_ridge(cost.attention_work) ? cost.attention : 0.0;
  return cost;
}

StepCost ConstantMfuRoofline::cost(const domain::StepBatch& batch) const {
  const BatchCounts counts = counts_of(batch);
  StepCost step;
  if (counts.prefills > 0) {
    Sums one;
    Sums many;
    for (const domain::PrefillChunk& chunk : batch.prefills) {
      const auto past = static_cast<double>(chunk.past.value());
      const auto fresh = static_cast<double>(chunk.new_tokens.value());
      const bool single = chunk.new_tokens.value() == 1;
      Sums& sums = single ? one : many;
      sums.context += past;
      sums.new_tokens += fresh;
      sums.pairs += fresh * (single ? past : past + (fresh - 1.0) / 2.0);
    }
    step.prefill = phase(one, many, prefill_);
  }
  if (counts.decodes > 0) {
    const auto context = static_cast<double>(batch.decode_context.value());
    step.decode = phase({context, static_cast<double>(counts.decodes), context}, {}, decode_);
  }
  const double tp = tensor_parallel_size_;
  if (version_ == Version::kV0) {
    step.overhead_us =
        network_.layers * constants_.per_layer_overhead_us + constants_.step_overhead_us;
  } else {
    if (counts.prefills > 0 && counts.decodes > 0) {
      set_default_shares(step, counts.prefill_tokens, counts.decodes);
    }
    step.overhead_us = legacy_overhead_us(
        {constants_.step_overhead_us, constants_.prefill_overhead_us, constants_.mixed_overhead_us},
        counts.prefills,
        counts.decodes);
  }
  if (tp > 1.0) {
    step.all_reduce_us = network_.layers * kAllReducesPerLayer * constants_.all_reduce_us;
  }
  step.seconds = step.prefill.share * step.prefill.time() + step.decode.share * step.decode.time();
  finish(step, 0.0);
  return step;
}

}  // namespace ridgeline::latency::roofline
