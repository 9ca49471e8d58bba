#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/save.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {

/// Which tables to make.
struct MakeRequest {
  std::vector<HeadShape> heads;
  std::vector<std::int64_t> tensor_parallel_sizes;
};

/// A file below the folder of tables: "gemm/h100/data.csv".
using MadeFile = document::NewFile;

/// Tables in InferSim's layout from the formulas of the kernel model: 16-bit GEMM and attention,
/// latency and unrounded MFU of the GPU's BF16 peak (2mkn; causal half; query heads of a rank), and
/// two columns more: which constants priced the cell, and the error to expect of it in percent
/// (docs/models/table.md). A head count that a tensor parallel size does not divide is an error.
[[nodiscard]] core::Result<std::vector<MadeFile>> make_tables(const hardware::GpuSpec& gpu,
                                                              const MakeRequest& request);

/// Whether the text of a table is one that make_tables() writes: it has those two columns.
[[nodiscard]] bool is_made_table(std::string_view text);

/// Makes tables in memory, for models that need tables where none were measured.
[[nodiscard]] core::Result<KernelTables> made_kernel_tables(const hardware::GpuSpec& gpu,
                                                            const MakeRequest& request);

}  // namespace ridgeline::latency::measured
