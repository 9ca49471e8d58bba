#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "latency/measured/peaks.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {

/// Something about a table that its reader should know.
struct Finding {
  /// Contradictions: "impossible-row", "mfu-above-1", "wrong-peak", "beats-peak". Notes:
  /// "last-decimal" (an MFU cut off rather than rounded), "rounded-to-zero", "hole", "warm-up",
  /// "fp8-as-bf16", "drawn-tokens", "made", "not-read".
  std::string code;
  std::string file;
  int line = 0;  ///< From 1; 0: the file.
  std::string message;
};

/// Whether a finding means that a table contradicts itself: its times, its MFUs and what its GPU
/// can do cannot all be true.
[[nodiscard]] bool is_contradiction(const Finding& finding);

/// A row that by some way of counting would be faster than its GPU.
struct BeatingRow {
  std::string file;
  int line = 0;
  std::string what;          ///< "length 8192"
  double tflops = 0.0;       ///< Its rate.
  double most_tflops = 0.0;  ///< What the GPU can do.
};

/// A way of counting FLOPs, and how well it explains a table.
struct Convention {
  std::string name;  ///< "causal half, query heads of a rank"
  PeakInterval peak;
  std::size_t agreeing = 0;
  /// "the dense BF16 peak of h20": the data sheets that have the peak, empty where none does.
  std::string data_sheets = {};
  /// The fastest of the agreeing rows, where it beats the GPU: then no
  /// kernel does that many FLOPs.
  std::optional<BeatingRow> beating = std::nullopt;
};

/// The tables of one kernel on one GPU.
struct KernelCheck {
  std::string gpu;
  std::string kernel;  ///< "gemm", "prefill attention", ...
  std::size_t files = 0;
  std::size_t rows = 0;
  Convention convention;               ///< The one that explains most.
  std::vector<Convention> other;       ///< The rest, best first.
  std::optional<double> median_error;  ///< Interpolated, each interior point left out.
  std::optional<double> p90_error;
  double largest_change = 1.0;  ///< By making time grow with work: new over measured.
  std::string largest_change_at;
};

/// Which catalogue networks a head shape serves.
struct ServedNetworks {
  std::string gpu;
  std::string shape;  ///< "32-8-128"
  std::vector<std::string> networks;
};

struct TableCheck {
  std::vector<KernelCheck> kernels;
  std::vector<Finding> findings;
  std::vector<ServedNetworks> served;
  core::Errors refused;  ///< Files and rows that could not be read.
};

/// What the tables below a folder are really made of: InferSim's layout (GEMM, attention, MLA,
/// grouped GEMM) or AIConfigurator's operator tables. Fails only where there is nothing to check.
[[nodiscard]] core::Result<TableCheck> check_tables(const std::string& directory);

}  // namespace ridgeline::latency::measured
