#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {

/// Measured times of any publisher, in any layout: what the `table` model and
/// `kernels check` work on. All of one rank; microseconds of one call.

struct GemmPoint {
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  double us = 0.0;
};
struct MeasuredGemm {
  std::string source;  ///< Its file.
  bool is_8bit = false;
  std::vector<GemmPoint> points;
};

struct PrefillPoint {
  std::int64_t seq_len = 0;
  double us = 0.0;
};
/// Causal attention of one whole prompt.
struct MeasuredPrefill {
  std::string source;
  HeadShape shape;  ///< Shape of the call: a rank's heads.
  bool kv_8bit = false;
  std::int64_t prompts = 1;  ///< Prompts of equal length in one call.
  std::vector<PrefillPoint> points;
};

struct DecodePoint {
  std::int64_t batch_size = 0;
  std::int64_t kv_len = 0;
  double us = 0.0;
};
struct MeasuredDecode {
  std::string source;
  HeadShape shape;  ///< Shape of the call: a rank's heads.
  bool kv_8bit = false;
  /// Timed around the call from the host, so that short kernels show the launch and not themselves.
  bool host_timed = false;
  std::vector<DecodePoint> points;
};

struct MeasuredKernels {
  std::vector<MeasuredGemm> gemms;
  std::vector<MeasuredPrefill> prefills;
  std::vector<MeasuredDecode> decodes;
  core::Warnings notes;  ///< Rows left out, and why; tables that contradict themselves.
};

/// Whether a table's column says "fp8..." or "int8...".
[[nodiscard]] bool is_8bit_type(const std::string& dtype);

/// Whether a GEMM table was measured with 8-bit products. Its MFU column is achieved FLOP/s over a
/// peak that its author chose; the median row says which. A table without a usable MFU is 8-bit
/// where a row is faster than 16 bit can be.
[[nodiscard]] bool is_8bit_table(const GemmTable& table, const hardware::GpuSpec& gpu);

/// Whether the first row of a decode table is a warm-up outlier: some row with at least as many
/// sequences and context is at least 5 % faster.
[[nodiscard]] bool first_row_is_outlier(const DecodeTable& table);

/// The heads that one of `tensor_parallel_size` ranks holds: KV heads are replicated where there
/// are fewer than ranks.
[[nodiscard]] HeadShape rank_shape(const HeadShape& shape, std::int64_t tensor_parallel_size);

/// What tables in InferSim's layout measured. There is a GEMM row.
[[nodiscard]] MeasuredKernels measured_from(const KernelTables& tables,
                                            const hardware::GpuSpec& gpu);

/// The tables of a GPU below a folder: InferSim's layout, or AIConfigurator's operator tables.
[[nodiscard]] core::Result<MeasuredKernels> load_measured_kernels(const std::string& directory,
                                                                  const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::measured
