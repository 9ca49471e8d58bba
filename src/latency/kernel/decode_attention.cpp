#include "latency/kernel/decode_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/line_cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

// FlashAttention 2 (flash_api.cpp): blocks of 128 threads, two of which a multiprocessor runs at
// once, and contexts in one piece from 0.8 of those on.
constexpr std::int64_t kBlocksPerSm = 2;
constexpr double kFilled = 0.8;
/// Rows of queries that a block works on in a call with prompts (kBlockM for heads of 128).
constexpr double kTileRows = 64.0;
/// Keys of a block (kBlockN for heads of 128). A context ends anywhere in its last one.
constexpr std::int64_t kBlockKeys = 128;

bool takes_whole_contexts(const DecodeAttentionConstants& constants, const hardware::GpuSpec& gpu) {
  return constants.unsplit && is_before_hopper(gpu);
}

std::optional<BlockWaves> block_waves(const model::Attention& shape,
                                      const DecodeAttentionConstants& constants,
                                      core::BytesPerSecond streamed,
                                      const hardware::GpuSpec& gpu,
                                      double mixed_tile_efficiency) {
  if (!takes_whole_contexts(constants, gpu)) {
    return std::nullopt;
  }
  const core::Bytes token = kv_bytes(shape) / real(shape.kv_heads);
  const std::int64_t at_once = kBlocksPerSm * gpu.num_sms;
  core::Seconds tile;
  if (mixed_tile_efficiency > 0.0) {
    const core::Flops flops = pair_flops(shape) * (kTileRows / real(shape.heads));
    tile = flops / (gpu.peak_bf16 * (mixed_tile_efficiency / real(gpu.num_sms)));
  }
  return BlockWaves{.blocks_per_sequence = shape.kv_heads,
                    .at_once = at_once,
                    .one_each = gpu.num_sms,
                    .unsplit = shape.heads == shape.kv_heads
                                   ? 1
                                   : static_cast<std::int64_t>(std::ceil(kFilled * real(at_once))),
                    .shared = token / streamed,
                    .alone = token / constants.unsplit->multiprocessor,
                    .tile = tile,
                    .tiles_per_sequence = shape.heads};
}

/// Time of all blocks, per token of their contexts.
struct WaveTime {
  core::Seconds streamed;       ///< In full waves, or in all where contexts are split.
  core::Seconds last_streamed;  ///< In the last wave, by the bandwidth.
  core::Seconds last_alone;     ///< In the last wave, by its multiprocessors.
};

WaveTime wave_time(const BlockWaves& waves, std::int64_t sequences) {
  const std::int64_t blocks = sequences * waves.blocks_per_sequence;
  if (blocks < waves.unsplit) {
    return {.streamed = waves.shared * real(blocks), .last_streamed = {}, .last_alone = {}};
  }
  const std::int64_t last = blocks % waves.at_once;
  // Where there are more than multiprocessors, two share one.
  const double on_one = last > waves.one_each ? 2.0 : 1.0;
  return {.streamed = waves.shared * real(blocks - last),
          .last_streamed = waves.shared * real(last),
          .last_alone = last > 0 ? waves.alone * on_one : core::Seconds()};
}

}  // namespace

core::Seconds BlockWaves::per_context_token(std::int64_t sequences) const {
  const WaveTime time = wave_time(*this, sequences);
  return (time.streamed + std::max(time.last_streamed, time.last_alone)) / real(sequences);
}

core::Seconds BlockWaves::per_context_token_beside_prompts(std::int64_t sequences) const {
  const std::int64_t blocks = sequences * tiles_per_sequence;
  const std::int64_t waves = (blocks + at_once - 1) / at_once;
  return std::max(per_context_token(sequences), tile * (real(waves) / real(sequences)));
}

bool BlockWaves::is_bound_by_tiles(std::int64_t sequences) const {
  return per_context_token_beside_prompts(sequences) > per_context_token(sequences);
}

std::int64_t BlockWaves::padding_beside_prompts(std::int64_t sequences) const {
  return is_bound_by_tiles(sequences) ? sequences * (kBlockKeys - 1) / 2 : 0;
}

domain::Bottleneck BlockWaves::limit(std::int64_t sequences, bool is_mixed) const {
  if (is_mixed && is_bound_by_tiles(sequences)) {
    return domain::Bottleneck::kCompute;
  }
  const WaveTime time = wave_time(*this, sequences);
  return Terms()
      .add(domain::Bottleneck::kMemory, time.streamed)
      .add_larger(domain::Bottleneck::kMemory,
                  time.last_streamed,
                  domain::Bottleneck::kCompute,
                  time.last_alone)
      .largest();
}

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
  return core::Bytes(real(shape.heads) * real(shape.head_dim + shape.values()) * kBytesPer16Bit);
}

core::Flops pair_flops(const model::Attention& shape) {
  constexpr double kPerMultiplyAdd = 2.0;
  return core::Flops(kPerMultiplyAdd * real(shape.heads) * real(shape.head_dim + shape.values()));
}

DecodeLine decode_line(const model::Attention& shape,
                       const DecodeAttentionConstants& constants,
                       const hardware::GpuSpec& gpu,
                       double mixed_tile_efficiency) {
  const bool whole_contexts = takes_whole_contexts(constants, gpu);
  const core::BytesPerSecond streamed = streaming_rate(constants, gpu);
  const double kernels = whole_contexts && shape.heads != shape.kv_heads ? 2.0 : 1.0;
  const core::Seconds waves = (constants.kv_head_wave * real(shape.kv_heads) +
                               constants.query_head_wave * real(shape.heads)) /
                              real(gpu.num_sms);
  return {
      .floor = constants.floor * kernels,
      .floor_per_sequence =
          constants.kv_head_wave_floor * (real(shape.kv_heads) / real(gpu.num_sms)),
      .fixed = constants.fixed * kernels,
      .per_sequence = waves,
      .launched_per_sequence = waves,
      .per_token = (kv_bytes(shape) + query_bytes(shape)) / streamed,
      .per_context_token = kv_bytes(shape) / streamed,
      .blocks = block_waves(shape, constants, streamed, gpu, mixed_tile_efficiency),
      .kind = streaming_limit(constants, gpu),
      .side = roofline_side(pair_flops(shape), kv_bytes(shape), gpu.peak_bf16, gpu.mem_bandwidth)};
}

Cost decode_attention(const DecodeCall& call,
                      const model::Attention& shape,
                      const DecodeAttentionConstants& constants,
                      const hardware::GpuSpec& gpu,
                      double mixed_tile_efficiency) {
  return line_cost(
      decode_line(shape, constants, gpu, mixed_tile_efficiency),
      call,
      pair_flops(shape) * call.pairs,
      kv_bytes(shape) * real(call.context + call.tokens) + query_bytes(shape) * real(call.tokens));
}

}  // namespace ridgeline::latency::kernel
