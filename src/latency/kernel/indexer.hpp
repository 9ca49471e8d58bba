#pragma once

#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// Scoring of every earlier token and choosing the best, by roofline: FP8 keys are read once and
/// multiplied with every index head (docs/models/kernel.md, "Sparse attention").
[[nodiscard]] DecodeLine indexer_line(const model::Indexer& shape, const hardware::GpuSpec& gpu);
[[nodiscard]] Cost indexer_decode(const DecodeCall& call,
                                  const model::Indexer& shape,
                                  const hardware::GpuSpec& gpu);
[[nodiscard]] Cost indexer_prefill(const PrefillCall& call,
                                   const model::Indexer& shape,
                                   const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
