#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "latency/fit/samples.hpp"

namespace ridgeline::latency::fit {

/// Which of aiconfigurator's tables, and which of their rows.
struct TableChoice {
  std::string engine = "vllm";     ///< As file names have it: sglang, trtllm or vllm.
  std::string kernel_source = {};  ///< Only rows whose `kernel_source` is that; empty: all.
};

/// Reads measured operator tables from a folder:
///
///  * ai-dynamo/aiconfigurator's, `<gpu>_<family>_<engine>_<version>_<table>_perf.csv`, gzipped or
///  not,
///    for the tables gemm, generation_attention, context_attention, moe and custom_allreduce
///    (milliseconds; message sizes in 16-bit elements). Other files are left alone;
///  * tools/profiler's, `full/<gpu>/<operator>.csv`, for gemm, decode_attention,
///    prefill_attention, grouped_gemm and collective (microseconds; message sizes in KiB).
///
/// Every version is read, in the order of the files' names. Rows that the kernel model has no
/// formula for are skipped: windows, 8-bit attention products, block-scaled and weight-only
/// formats, eager all-reduce calls, and of the distributions of tokens over experts all but the
/// mildest power law, which is nearest to real routing. Of the profiler's experts whole layers of
/// ranks with every expert are read; of its exchanges all-reduces by the way that vLLM goes for
/// that size and number of ranks.
[[nodiscard]] core::Result<std::vector<SampleTable>> read_tables(const std::string& folder,
                                                                 const TableChoice& choice = {});

}  // namespace ridgeline::latency::fit
