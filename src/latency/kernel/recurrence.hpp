#pragma once

#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// The update of recurrent states. A decode reads and writes each sequence's state; a prompt is
/// scanned chunk by chunk, each head of a sequence on a processor of its own
/// (docs/models/kernel.md, "Recurrent layers").
[[nodiscard]] DecodeLine recurrence_line(const model::Recurrence& shape,
                                         const hardware::GpuSpec& gpu);
[[nodiscard]] Cost recurrence_decode(const DecodeCall& call,
                                     const model::Recurrence& shape,
                                     const hardware::GpuSpec& gpu);
[[nodiscard]] Cost recurrence_prefill(const PrefillCall& call,
                                      const model::Recurrence& shape,
                                      const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
