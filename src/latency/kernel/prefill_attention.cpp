#include "latency/kernel/prefill_attention.hpp"

#include <algorithm>
#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// FLOPs of one query tile (128 rows) against one key, per key: 4 * 128 rows * 128 of head
/// dimension (FlashAttention's tile).
constexpr double kTileFlopsPerKey = 4.0 * 128.0 * 128.0;
/// Head dimension of the tables that the constants were fitted on.
constexpr double kFittedHeadDim = 128.0;

/// How much longer a product of a query with a key takes, FLOP for FLOP, than with the fitted head
/// dimension. Beside its products each pair needs an exponential, of which a multiprocessor
/// computes 16 in a clock on every generation (CUDA C++ Programming Guide, arithmetic
/// instructions): as long as the tensor cores take for so many more dimensions.
double head_share(const model::Attention& shape, const hardware::GpuSpec& gpu) {
  constexpr double kExponentialsPerClock = 16.0;
  constexpr double kFlopsPerDimension =
      4.0;  // of a query with a key and of its weight with a value
  constexpr double kHertz = 1e9;
  const double dim = 0.5 * (real(shape.head_dim) + real(shape.values()));
  const double flops_per_clock =
      gpu.peak_bf16.value() / (real(gpu.num_sms) * gpu.clock_ghz * kHertz);
  const double more = flops_per_clock / (kExponentialsPerClock * kFlopsPerDimension);
  return (dim + more) / dim * kFittedHeadDim / (kFittedHeadDim + more);
}

}  // namespace

void PrefillCall::add(const domain::PrefillChunk& chunk) {
  const std::int64_t tokens = chunk.new_tokens.value();
  const std::int64_t past = chunk.past.value();
  ++chunks;
  new_tokens += tokens;
  kv_tokens += past + tokens;
  longest = std::max(longest, past + tokens);
  longest_new = std::max(longest_new, tokens);
  pairs += real(tokens) * (real(past) + real(tokens) / 2.0);
}

Cost prefill_attention(const PrefillCall& call,
                       const model::Attention& shape,
                       const PrefillAttentionConstants& constants,
                       const AttentionConstants& common,
                       const hardware::GpuSpec& gpu) {
  const core::FlopsPerSecond rate = gpu.peak_bf16 * constants.compute_efficiency;
  const double longer = common.exponentials ? head_share(shape, gpu) : 1.0;
  const core::Flops paid =
      pair_flops(shape) * longer * (call.pairs + real(call.new_tokens) * constants.startup_tokens);
  const core::Flops last_tile(kTileFlopsPerKey * (real(call.longest) + constants.startup_tokens));
  const core::Seconds compute =
      soft_max(paid / rate,
               last_tile / (rate / real(gpu.num_sms)) * constants.straggler_weight,
               constants.straggler_exponent);
  const core::Bytes kv = kv_bytes(shape) * real(call.kv_tokens);
  const core::Seconds memory = kv / (gpu.mem_bandwidth * common.prefill_bandwidth_efficiency);
  const core::Bytes touched = (query_bytes(shape) * constants.query_traffic_factor +
                               kv_bytes(shape) * constants.kv_traffic_factor) *
                              real(call.new_tokens);
  const core::Seconds kernel =
      soft_max(std::max(compute, memory), constants.floor, constants.overlap_exponent);
  const core::Flops flops = pair_flops(shape) * call.pairs;
  const core::Bytes bytes = kv + query_bytes(shape) * real(call.new_tokens);
  return {
      .time = constants.fixed +
              soft_max(kernel, touched / gpu.mem_bandwidth, constants.traffic_exponent),
      .flops = flops,
      .bytes = bytes,
      .kind = Terms()
                  .add(domain::Bottleneck::kOverhead, constants.fixed + constants.floor)
                  .add_larger(
                      domain::Bottleneck::kCompute, compute, domain::Bottleneck::kMemory, memory)
                  .add(domain::Bottleneck::kMemory, touched / gpu.mem_bandwidth)
                  .largest(),
      .losing = LosingSide{.time = std::min(compute, memory),
                           .kind = memory < compute ? domain::Bottleneck::kMemory
                                                    : domain::Bottleneck::kCompute},
      .side = roofline_side(flops, bytes, gpu.peak_bf16, gpu.mem_bandwidth)};
}

Cost streamed_prefill(core::Seconds compute,
                      core::Flops flops,
                      core::Bytes bytes,
                      const PrefillAttentionConstants& constants,
                      const AttentionConstants& common,
                      const hardware::GpuSpec& gpu) {
  const core::Seconds memory = bytes / (gpu.mem_bandwidth * common.prefill_bandwidth_efficiency);
  return {
      .time = soft_max(std::max(compute, memory), constants.floor, constants.overlap_exponent),
      .flops = flops,
      .bytes = bytes,
      .kind = Terms()
                  .add(domain::Bottleneck::kOverhead, constants.floor)
                  .add_larger(
                      domain::Bottleneck::kCompute, compute, domain::Bottleneck::kMemory, memory)
                  .largest(),
      .losing = LosingSide{.time = std::min(compute, memory),
                           .kind = memory < compute ? domain::Bottleneck::kMemory
                                                    : domain::Bottleneck::kCompute},
      .side = roofline_side(flops, bytes, gpu.peak_bf16, gpu.mem_bandwidth)};
}

}  // namespace ridgeline::latency::kernel
