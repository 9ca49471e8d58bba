#pragma once

#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// Latent attention of decodes: every head reads the one latent vector of a token, in the latent
/// space. Reading it and multiplying by it overlap (docs/models/kernel.md, "Latent attention").
[[nodiscard]] DecodeLine latent_decode_line(const model::LatentAttention& shape,
                                            const DecodeAttentionConstants& constants,
                                            const hardware::GpuSpec& gpu);
[[nodiscard]] Cost latent_decode(const DecodeCall& call,
                                 const model::LatentAttention& shape,
                                 const DecodeAttentionConstants& constants,
                                 const hardware::GpuSpec& gpu);
/// Cost of prompts: keys and values of each head are rebuilt, those of the past once more.
[[nodiscard]] Cost latent_prefill(const PrefillCall& call,
                                  const model::LatentAttention& shape,
                                  const PrefillAttentionConstants& constants,
                                  const AttentionConstants& common,
                                  const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
