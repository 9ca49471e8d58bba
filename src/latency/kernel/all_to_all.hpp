#pragma once

#include <cstdint>

#include "core/units.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// One way of the exchange between data-parallel ranks: the copies of its tokens that leave a rank,
/// over that rank's link, after a start of NCCL's or, with DeepEP's direct kernels, of one message
/// (docs/models/kernel.md, "All-to-all").
[[nodiscard]] Cost all_to_all(const model::AllToAll& shape,
                              std::int64_t rows,
                              const AllReduceConstants& constants,
                              const hardware::GpuSpec& gpu);
/// Bytes that leave a rank.
[[nodiscard]] core::Bytes all_to_all_volume(const model::AllToAll& shape, std::int64_t rows);

/// Hidden states of a micro-batch from a pipeline's stage to the next.
[[nodiscard]] Cost point_to_point(std::int64_t rows,
                                  std::int64_t width,
                                  const AllReduceConstants& constants,
                                  const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
