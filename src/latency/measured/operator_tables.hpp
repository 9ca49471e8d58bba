#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {

/// The operator tables of ai-dynamo/aiconfigurator: `<gpu>_<family>_vllm_<version>_<table>.csv`,
/// plain or gzipped, in one folder, e.g.
/// `h100_sxm_gemm_vllm_0.24.0_gemm_perf.csv.gz`. Latencies are milliseconds of one call on one
/// rank. Read are dense GEMM (bfloat16 and fp8), whole-prompt and decode attention without a
/// window.

/// Whether such files lie in a folder.
[[nodiscard]] bool holds_operator_tables(const std::string& directory);

/// What is in one file; empty where its name is none of the three.
struct OperatorFile {
  std::string path;
  std::string gpu;      ///< "h100_sxm"
  std::string version;  ///< "0.24.0"
  std::string table;    ///< "gemm_perf"
};
/// The three kinds, by path.
[[nodiscard]] core::Result<std::vector<OperatorFile>> operator_files(const std::string& directory);

/// Reads a file into what it measured; problems name file and line.
[[nodiscard]] core::Result<MeasuredKernels> read_operator_file(const OperatorFile& file);
/// read_operator_file() for a text.
[[nodiscard]] core::Result<MeasuredKernels> read_operator_text(const std::string& text,
                                                               const OperatorFile& file);

/// The tables of a GPU, of each kind those of the newest version.
[[nodiscard]] core::Result<MeasuredKernels> load_operator_tables(const std::string& directory,
                                                                 const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency::measured
