#pragma once

#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::kernel {

/// What the constants' times take on this GPU: they are clocks where AllReduceConstants::clock_ghz
/// says of which clock.
[[nodiscard]] double latency_pace(const AllReduceConstants& constants,
                                  const hardware::GpuSpec& gpu);

/// NCCL's time to send so many bytes out of a rank over links `gain` times as fast, `added` of them
/// being summed up.
[[nodiscard]] core::Seconds nccl(core::Bytes sent,
                                 core::Bytes added,
                                 double gain,
                                 const AllReduceConstants& constants,
                                 const hardware::GpuSpec& gpu);

/// The ways of an all-reduce: every rank adds up all messages; every rank adds up a part and
/// gathers the others'; NCCL's.
enum class AllReduceWay : std::uint8_t { kOneShot, kTwoShot, kNccl };

/// The way that vLLM goes over NVLink (custom_all_reduce.cuh; all_reduce_utils.py).
[[nodiscard]] AllReduceWay all_reduce_way(core::Bytes message,
                                          std::int64_t ranks,
                                          const ExchangeConstants& common);

/// Sum of `message` bytes over `ranks` (at least 2) GPUs of one node: vLLM's custom all-reduce,
/// one-shot for small messages and two-shot above, then NCCL's ring; over PCIe where the GPU has no
/// NVLink (docs/models/kernel.md, "All-reduce").
[[nodiscard]] Cost all_reduce(core::Bytes message,
                              std::int64_t ranks,
                              const AllReduceConstants& constants,
                              const ExchangeConstants& common,
                              const hardware::GpuSpec& gpu);

/// The messages that go through symmetric memory end below this, and those of vLLM's own kernels
/// before it below `own` where it is on; nothing where the GPU or the number of ranks has none
/// (vLLM: all_reduce_utils.py, SYMM_MEM_ALL_REDUCE_MAX_SIZES and CUSTOM_ALL_REDUCE_MAX_SIZES).
struct SymmMemLimits {
  core::Bytes own;
  core::Bytes symm_mem;
};
[[nodiscard]] std::optional<SymmMemLimits> symm_mem_limits(std::int64_t ranks,
                                                           const hardware::GpuSpec& gpu);

/// all_reduce() with symmetric memory. No table holds PyTorch's kernels over it: between the two
/// limits the shorter of vLLM's two shots and NCCL's ways stands in.
[[nodiscard]] Cost symm_mem_all_reduce(core::Bytes message,
                                       std::int64_t ranks,
                                       const AllReduceConstants& constants,
                                       const ExchangeConstants& common,
                                       const hardware::GpuSpec& gpu);

/// The largest message that FlashInfer's all-reduce with the norm after it takes; nothing where the
/// GPU or the number of ranks has none (vLLM: allreduce_rms_fusion.py,
/// FI_ALLREDUCE_FUSION_MAX_SIZE_MB).
[[nodiscard]] core::Bytes fused_limit(std::int64_t ranks, const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
