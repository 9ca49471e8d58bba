#include "latency/kernel/indexer.hpp"

#include <algorithm>
#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/line_cost.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Shares of the datasheet's peaks that plain kernels reach; and the time to launch the scorer and
/// the selection. None of them is fitted.
constexpr double kScoringEfficiency = 0.5;
constexpr double kStreamingEfficiency = 0.8;
constexpr core::Seconds kTwoLaunches{10e-6};
/// A score is written and read again by the selection, in 32 bits each.
constexpr double kScoreBytes = 8.0;
constexpr double kPerMultiplyAdd = 2.0;
constexpr double kScaleBytes = 4.0;

core::FlopsPerSecond scoring_peak(const hardware::GpuSpec& gpu) {
  return gpu.peak_fp8.value() > 0.0 ? gpu.peak_fp8 : gpu.peak_bf16;
}

/// Per token of context.
core::Bytes scored_bytes(const model::Indexer& shape) {
  return core::Bytes((real(shape.head_dim) + kScaleBytes + kScoreBytes) / real(shape.ratio));
}

core::Flops scored_flops(const model::Indexer& shape) {
  return core::Flops(kPerMultiplyAdd * real(shape.heads) * real(shape.head_dim) /
                     real(shape.ratio));
}

}  // namespace

DecodeLine indexer_line(const model::Indexer& shape, const hardware::GpuSpec& gpu) {
  const core::Seconds read = scored_bytes(shape) / (gpu.mem_bandwidth * kStreamingEfficiency);
  const core::Seconds multiplied = scored_flops(shape) / (scoring_peak(gpu) * kScoringEfficiency);
  return {.floor = kTwoLaunches,
          .floor_per_sequence = {},
          .fixed = kTwoLaunches,
          .per_sequence = {},
          .launched_per_sequence = {},
          .per_token = read,
          .per_context_token = std::max(read, multiplied),
          .kind = read < multiplied ? domain::Bottleneck::kCompute : domain::Bottleneck::kMemory,
          .side = roofline_side(
              scored_flops(shape), scored_bytes(shape), scoring_peak(gpu), gpu.mem_bandwidth)};
}

Cost indexer_decode(const DecodeCall& call,
                    const model::Indexer& shape,
                    const hardware::GpuSpec& gpu) {
  return line_cost(indexer_line(shape, gpu),
                   call,
                   scored_flops(shape) * call.pairs,
                   scored_bytes(shape) * real(call.context + call.tokens));
}

Cost indexer_prefill(const PrefillCall& call,
                     const model::Indexer& shape,
                     const hardware::GpuSpec& gpu) {
  const core::Flops flops = scored_flops(shape) * call.pairs;
  const core::Bytes bytes = scored_bytes(shape) * real(call.kv_tokens) +
                            core::Bytes(kScoreBytes / real(shape.ratio) * call.pairs);
  const core::Seconds compute = flops / (scoring_peak(gpu) * kScoringEfficiency);
  const core::Seconds memory = bytes / (gpu.mem_bandwidth * kStreamingEfficiency);
  return {
      .time = kTwoLaunches + std::max(compute, memory),
      .flops = flops,
      .bytes = bytes,
      .kind = Terms()
                  .add(domain::Bottleneck::kOverhead, kTwoLaunches)
                  .add_larger(
                      domain::Bottleneck::kCompute, compute, domain::Bottleneck::kMemory, memory)
                  .largest(),
      .losing = LosingSide{.time = std::min(compute, memory),
                           .kind = memory < compute ? domain::Bottleneck::kMemory
                                                    : domain::Bottleneck::kCompute},
      .side = roofline_side(flops, bytes, scoring_peak(gpu), gpu.mem_bandwidth)};
}

}  // namespace ridgeline::latency::kernel
