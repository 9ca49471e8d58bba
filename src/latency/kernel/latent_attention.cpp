#include "latency/kernel/latent_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/units.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/line_cost.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Share of the peak that products in the latent space reach: 128 heads on H100 take 0.395 ns per
/// token of context and layer (ai-dynamo/aiconfigurator, vLLM 0.24, mla_generation_module,
/// DeepSeek-V3, 128 sequences, 8k to 32k of context), 278,528 FLOPs of 989e12 a second in that
/// time.
constexpr double kLatentEfficiency = 0.72;
/// Head sizes of 192 and 128 multiply this much better than the 128 that the prefill constants were
/// fitted on (the same source, context_mla, 8k and 16k tokens, 128 heads).
constexpr double kWideHeadGain = 1.13;
constexpr double kFlopsOfLatentMultiplyAdd = 2.0;
constexpr double kLatentBytesPer16Bit = 2.0;

core::Bytes latent_bytes(const model::LatentAttention& shape) {
  return core::Bytes(real(shape.rank + shape.rope) * model::bytes_per_element(shape.kv));
}

/// Queries and outputs of a token in the latent space.
core::Bytes latent_query_bytes(const model::LatentAttention& shape) {
  return core::Bytes(real(shape.heads) * real(2 * shape.rank + shape.rope) * kLatentBytesPer16Bit);
}

/// Query heads that a tile of the sparse prefill kernel holds, which fewer heads on a rank do not
/// fill (FlashMLA asks for 64 on Hopper and 128 on Blackwell; engines pad to it. From memory).
double padded_heads(const model::LatentAttention& shape, const hardware::GpuSpec& gpu) {
  constexpr double kHopperTile = 64.0;
  constexpr double kLaterTile = 128.0;
  const double tile = gpu.architecture == "hopper" ? kHopperTile : kLaterTile;
  return std::ceil(real(shape.heads) / tile) * tile / real(shape.heads);
}

/// A pair: the score over latent and rotary part, the value over the latent.
core::Flops latent_pair_flops(const model::LatentAttention& shape) {
  return core::Flops(kFlopsOfLatentMultiplyAdd * real(shape.heads) *
                     real(2 * shape.rank + shape.rope));
}

}  // namespace

DecodeLine latent_decode_line(const model::LatentAttention& shape,
                              const DecodeAttentionConstants& constants,
                              const hardware::GpuSpec& gpu) {
  const core::BytesPerSecond streamed = gpu.mem_bandwidth * constants.bandwidth_efficiency;
  const core::Seconds read = latent_bytes(shape) / streamed;
  const core::Seconds multiplied = latent_pair_flops(shape) / (gpu.peak_bf16 * kLatentEfficiency);
  return {.floor = constants.floor,
          .floor_per_sequence = {},
          .fixed = constants.fixed,
          .per_sequence = constants.kv_head_wave * (1.0 / real(gpu.num_sms)),
          .launched_per_sequence = constants.kv_head_wave * (1.0 / real(gpu.num_sms)),
          .per_token = (latent_bytes(shape) + latent_query_bytes(shape)) / streamed,
          .per_context_token = std::max(read, multiplied),
          .kind = read < multiplied ? domain::Bottleneck::kCompute : domain::Bottleneck::kMemory,
          .side = roofline_side(
              latent_pair_flops(shape), latent_bytes(shape), gpu.peak_bf16, gpu.mem_bandwidth)};
}

Cost latent_decode(const DecodeCall& call,
                   const model::LatentAttention& shape,
                   const DecodeAttentionConstants& constants,
                   const hardware::GpuSpec& gpu) {
  return line_cost(latent_decode_line(shape, constants, gpu),
                   call,
                   latent_pair_flops(shape) * call.pairs,
                   latent_bytes(shape) * real(call.context + call.tokens) +
                       latent_query_bytes(shape) * real(call.tokens));
}

Cost latent_prefill(const PrefillCall& call,
                    const model::LatentAttention& shape,
                    const PrefillAttentionConstants& constants,
                    const AttentionConstants& common,
                    const hardware::GpuSpec& gpu) {
  // Where an indexer selects tokens for each query, keys and values stay in the latent space: every
  // query has others, so that none are rebuilt (sparse prefill of FlashMLA, q of 576, v of 512).
  const bool in_latent_space = shape.selected > 0 && call.longest >= shape.selected;
  const core::Flops pair = in_latent_space
                               ? latent_pair_flops(shape)
                               : core::Flops(kFlopsOfLatentMultiplyAdd * real(shape.heads) *
                                             real(shape.nope + shape.rope + shape.value));
  const core::FlopsPerSecond rate =
      gpu.peak_bf16 * std::min(1.0, constants.compute_efficiency * kWideHeadGain);
  const double past = in_latent_space ? 0.0 : real(call.kv_tokens - call.new_tokens);
  const core::Flops rebuilt(kFlopsOfLatentMultiplyAdd * real(shape.rank) * real(shape.heads) *
                            real(shape.nope + shape.value) * past);
  const double padding = in_latent_space ? padded_heads(shape, gpu) : 1.0;
  const core::Flops paid =
      pair * padding * (call.pairs + real(call.new_tokens) * constants.startup_tokens) + rebuilt;
  // Keys and values of every head, written and read in 16 bits.
  const core::Bytes kv(real(shape.heads) * real(shape.nope + shape.rope + shape.value) *
                       kLatentBytesPer16Bit * real(call.kv_tokens));
  const core::Bytes bytes = kv + latent_bytes(shape) * past;
  const core::Flops flops = pair * call.pairs + rebuilt;
  return streamed_prefill(paid / rate, flops, bytes, constants, common, gpu);
}

}  // namespace ridgeline::latency::kernel
