#pragma once

#include <cstdint>

#include "core/units.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// One way of the exchange between data-parallel ranks: the copies of its tokens that leave a rank,
/// over that rank's link, after a start of NCCL's or, with DeepEP's direct kernels, of one message
/// (docs/models/kernel.md, "All-to-all").
[[nodiscard]] Cost all_to_all(const model::AllToAll& shape,
                              std::int64_t rows,
                              const AllReduceConstants& constants,
                              const hardware::GpuSpec& gpu);
/// The exchange as a network between nodes carries it. DeepEP's high-throughput kernels send a
/// token once to each other node that has one of its experts, and pass it on over NVLink there
/// meanwhile (deepseek-ai/DeepEP, "asymmetric-domain bandwidth forwarding"); the others send every
/// copy from rank to rank.
[[nodiscard]] model::AllToAll between_nodes(const model::AllToAll& shape, std::int64_t nodes);
/// Bytes that leave a rank.
[[nodiscard]] core::Bytes all_to_all_volume(const model::AllToAll& shape, std::int64_t rows);

/// Hidden states of a micro-batch from a pipeline's stage to the next.
[[nodiscard]] Cost point_to_point(std::int64_t rows,
                                  std::int64_t width,
                                  const AllReduceConstants& constants,
                                  const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
