#pragma once

#include <cstdint>

#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::kernel {

struct GemmShape {
  std::int64_t m = 0;  ///< Rows: tokens.
  std::int64_t k = 0;
  std::int64_t n = 0;
};

/// y[m, n] = x[m, k] * w[k, n]: a soft maximum of streaming the three matrices and of the waves of
/// output tiles, at the best tile and split of k (docs/models/kernel.md, "GEMM").
[[nodiscard]] Cost gemm(const GemmShape& shape,
                        const MatmulFormat& format,
                        const GemmConstants& constants,
                        const hardware::GpuSpec& gpu);

/// The product in FP32 on a multiprocessor's ordinary units, with rows made from 16 bit before. It
/// takes what a 16-bit product takes to start and to stream; no table holds it.
[[nodiscard]] Cost fp32_gemm(const GemmShape& shape,
                             const GemmConstants& constants,
                             const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::kernel
