#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hardware/gpu_spec.hpp"
#include "latency/measured/check.hpp"
#include "latency/measured/peaks.hpp"

namespace ridgeline::latency::measured {

/// One row as the check sees it.
struct CheckedRow {
  std::string file;
  int line = 0;
  std::string what;  ///< "m 8, k 2048, n 6144"
  double latency_us = 0.0;
  double mfu = 0.0;
  std::vector<double> flops;  ///< By each convention.
};

/// What is known of a GPU's peaks, in TFLOP/s; 0: nothing.
struct KnownPeaks {
  std::string gpu;  ///< Catalogue name, empty when it has none.
  double bf16 = 0.0;
  double fp8 = 0.0;
};
[[nodiscard]] KnownPeaks known_peaks(const std::string& gpu);

/// Finds the convention and peak behind the MFUs of one kernel's tables, and the rows that neither
/// explains. Of conventions that explain as much, the one whose peak is nearest to `expected`
/// TFLOP/s is taken, or the first without one. Decimals are those of each file.
void check_mfu(const std::vector<std::string>& conventions,
               const std::vector<CheckedRow>& rows,
               double expected,
               KernelCheck& kernel,
               std::vector<Finding>& findings);

}  // namespace ridgeline::latency::measured
