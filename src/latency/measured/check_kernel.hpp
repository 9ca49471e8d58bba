#pragma once

#include <cstddef>
#include <string>
#include <vector>

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
  double most_tflops = 0.0;   ///< What its GPU can do in its format; 0: not known.
};

/// Finds the convention and peak behind the MFUs of one kernel's tables, and the rows that neither
/// explains. Of conventions that explain as much, one by which no row beats the GPU is taken, then
/// the one whose peak is nearest to `expected` TFLOP/s, or the first without one. Decimals are
/// those of each file. The GPU is that of `kernel`.
void check_mfu(const std::vector<std::string>& conventions,
               const std::vector<CheckedRow>& rows,
               double expected,
               KernelCheck& kernel,
               std::vector<Finding>& findings);

}  // namespace ridgeline::latency::measured
