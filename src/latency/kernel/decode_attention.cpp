#include "latency/kernel/decode_attention.hpp"

#include <algorithm>
#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
void DecodeCall::add(const domain::PrefillChunk& chunk) {
  const std::int64_t count = chunk.new_tokens.value();
  ++sequences;
  tokens += count;
  context += chunk.past.value();
  // Each new token sees the past, itself and the new ones before it.
  pairs += real(count) * (real(chunk.past.value()) + (real(count) + 1.0) / 2.0);
}

core::Bytes kv_bytes(const model::Attention& shape) {
  return core::Bytes(real(shape.kv_heads) * real(shape.head_dim + shape.values()) *
                     model::bytes_per_element(shape.kv));
}

core::Bytes query_bytes(const model::Attention& shape) {
  constexpr double kBytesPer16Bit = 2.0;
  return core::Bytes(real(shape.heads) * real(shape.head_dim + shape.values()) * kBytesPer16Bit);
}

core::Flops pair_flops(const model::Attention& shape) {
  constexpr double kPerMultiplyAdd = 2.0;
  return core::Flops(kPerMultiplyAdd * real(shape.heads) * real(shape.head_dim + shape.values()));
}

DecodeLine decode_line(const model::Attention& shape,
                       const DecodeAttentionConstants& constants,
                       const hardware::GpuSpec& gpu) {
  const core::BytesPerSecond streamed = gpu.mem_bandwidth * constants.bandwidth_efficiency;
  return {
      .floor = constants.floor,
      .floor_per_sequence =
          constants.kv_head_wave_floor * (real(shape.kv_heads) / real(gpu.num_sms)),
      .fixed = constants.fixed,
      .per_sequence = constants.kv_head_wave * (real(shape.kv_heads) / real(gpu.num_sms)),
      .per_token = (kv_bytes(shape) + query_bytes(shape)) / streamed,
      .per_context_token = kv_bytes(shape) / streamed,
      .kind = roofline_side(pair_flops(shape), kv_bytes(shape), gpu.peak_bf16, gpu.mem_bandwidth)};
}

Cost decode_attention(const DecodeCall& call,
                      const model::Attention& shape,
                      const DecodeAttentionConstants& constants,
                      const hardware::GpuSpec& gpu) {
  const DecodeLine line = decode_line(shape, constants, gpu);
  const core::Seconds streamed = line.fixed + line.per_sequence * real(call.sequences) +
                                 line.per_token * real(call.tokens) +
                                 line.per_context_token * real(call.context);
  const core::Seconds floor = line.floor + line.floor_per_sequence * real(call.sequences);
  return {
      .time = std::max(floor, streamed),
      .flops = pair_flops(shape) * call.pairs,
      .bytes = kv_bytes(shape) * real(call.context + call.tokens) +
               query_bytes(shape) * real(call.tokens),
      .kind = line.kind,
      .losing = LosingSide{.time = std::min(floor, streamed),
                           .kind = streamed < floor ? line.kind : domain::Bottleneck::kOverhead}};
}

}  // namespace ridgeline::latency::kernel
