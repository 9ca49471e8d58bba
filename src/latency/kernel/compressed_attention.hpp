#pragma once

#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// Attention over the last `window` tokens and over one entry per `ratio` tokens, all of them or
/// the `selected` that an indexer chose: all heads read the same vectors (docs/models/kernel.md,
/// "Compressed attention"). Priced with the constants of plain attention: no table of it is at
/// hand.
[[nodiscard]] DecodeLine compressed_decode_line(const model::CompressedAttention& shape,
                                                const DecodeAttentionConstants& constants,
                                                const hardware::GpuSpec& gpu);
[[nodiscard]] Cost compressed_decode(const DecodeCall& call,
                                     const model::CompressedAttention& shape,
                                     const DecodeAttentionConstants& constants,
                                     const hardware::GpuSpec& gpu);
[[nodiscard]] Cost compressed_prefill(const PrefillCall& call,
                                      const model::CompressedAttention& shape,
                                      const PrefillAttentionConstants& constants,
                                      const AttentionConstants& common,
                                      const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
