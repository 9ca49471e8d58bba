#pragma once

#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// What one call of the prefill kernel works on, summed over the step's chunks.
struct PrefillCall {
  std::int64_t chunks = 0;
  std::int64_t new_tokens = 0;
  std::int64_t kv_tokens = 0;    ///< Past and new.
  std::int64_t longest = 0;      ///< Most KV tokens of one chunk.
  std::int64_t longest_new = 0;  ///< Most new tokens of one chunk.
  double pairs = 0.0;            ///< (query, key) pairs under the causal mask: n*past + n^2/2.

  void add(const domain::PrefillChunk& chunk);
};

/// One call: products at a share of the peak, with the last tile's stragglers, or reading the KV
/// cache; joined by a soft maximum with a floor (docs/models/kernel.md, "Prefill attention").
[[nodiscard]] Cost prefill_attention(const PrefillCall& call,
                                     const model::Attention& shape,
                                     const PrefillAttentionConstants& constants,
                                     const AttentionConstants& common,
                                     const hardware::GpuSpec& gpu);

/// One call of an attention whose products and whose reading of the cache hide each other whole:
/// the greater of both, joined with the floor. `compute` may pay for more than `flops`.
[[nodiscard]] Cost streamed_prefill(core::Seconds compute,
                                    core::Flops flops,
                                    core::Bytes bytes,
                                    const PrefillAttentionConstants& constants,
                                    const AttentionConstants& common,
                                    const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
