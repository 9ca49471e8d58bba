#include "latency/kernel/compressed_attention.hpp"

#include <algorithm>
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

/// As in latent_attention.cpp: many heads read one vector there too.
constexpr double kSharedVectorEfficiency = 0.72;
/// Two products over head_dim, two FLOPs per multiply-add.
constexpr double kFlopsPerPairElement = 4.0;

core::Bytes entry_bytes(const model::CompressedAttention& shape) {
  return core::Bytes(real(shape.head_dim) * model::bytes_per_element(shape.kv));
}

core::Bytes compressed_query_bytes(const model::CompressedAttention& shape) {
  constexpr double kReadAndWritten16Bit = 4.0;
  return core::Bytes(real(shape.heads) * real(shape.head_dim) * kReadAndWritten16Bit);
}

core::Flops entry_flops(const model::CompressedAttention& shape) {
  return core::Flops(kFlopsPerPairElement * real(shape.heads) * real(shape.head_dim));
}

/// Entries read per token of context.
double entries_per_token(const model::CompressedAttention& shape) {
  return shape.ratio > 0 ? 1.0 / real(shape.ratio) : 0.0;
}

/// (query, entry) pairs of `pairs` (query, token) pairs and `tokens` queries.
double entry_pairs(const model::CompressedAttention& shape, double pairs, double tokens) {
  return pairs * entries_per_token(shape) + std::min(pairs, tokens * real(shape.window));
}

}  // namespace

DecodeLine compressed_decode_line(const model::CompressedAttention& shape,
                                  const DecodeAttentionConstants& constants,
                                  const hardware::GpuSpec& gpu) {
  const core::BytesPerSecond streamed = gpu.mem_bandwidth * constants.bandwidth_efficiency;
  const core::Seconds read = entry_bytes(shape) / streamed;
  const core::Seconds multiplied = entry_flops(shape) / (gpu.peak_bf16 * kSharedVectorEfficiency);
  const core::Seconds entry = std::max(read, multiplied);
  const core::Seconds wave = constants.kv_head_wave * (1.0 / real(gpu.num_sms));
  return {.floor = constants.floor,
          .floor_per_sequence = {},
          .fixed = constants.fixed,
          .per_sequence = entry * real(shape.window) + wave,
          .launched_per_sequence = wave,
          .per_token = (entry_bytes(shape) + compressed_query_bytes(shape)) / streamed,
          .per_context_token = entry * entries_per_token(shape),
          .kind = read < multiplied ? domain::Bottleneck::kCompute : domain::Bottleneck::kMemory,
          .side = roofline_side(
              entry_flops(shape), entry_bytes(shape), gpu.peak_bf16, gpu.mem_bandwidth)};
}

Cost compressed_decode(const DecodeCall& call,
                       const model::CompressedAttention& shape,
                       const DecodeAttentionConstants& constants,
                       const hardware::GpuSpec& gpu) {
  const DecodeCall seen = within_window(call, shape.ratio * shape.selected);
  const double entries = real(seen.context) * entries_per_token(shape) +
                         std::min(real(call.context), real(call.sequences) * real(shape.window));
  return line_cost(compressed_decode_line(shape, constants, gpu),
                   seen,
                   entry_flops(shape) * entry_pairs(shape, seen.pairs, real(call.tokens)),
                   entry_bytes(shape) * (entries + real(call.tokens)) +
                       compressed_query_bytes(shape) * real(call.tokens));
}

Cost compressed_prefill(const PrefillCall& call,
                        const model::CompressedAttention& shape,
                        const PrefillAttentionConstants& constants,
                        const AttentionConstants& common,
                        const hardware::GpuSpec& gpu) {
  const double pairs = entry_pairs(shape, call.pairs, real(call.new_tokens));
  const core::FlopsPerSecond rate = gpu.peak_bf16 * constants.compute_efficiency;
  const core::Flops flops = entry_flops(shape) * pairs;
  const core::Bytes bytes =
      entry_bytes(shape) * (real(call.kv_tokens) * (1.0 + entries_per_token(shape))) +
      compressed_query_bytes(shape) * real(call.new_tokens);
  return streamed_prefill(flops / rate, flops, bytes, constants, common, gpu);
}

}  // namespace ridgeline::latency::kernel
