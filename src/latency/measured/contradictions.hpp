#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "latency/measured/check.hpp"
#include "latency/measured/check_kernel.hpp"
#include "latency/measured/data_sheets.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {

/// Holds attention's peak, as check_mfu found it, against its GPU's data sheet: "wrong-peak" where
/// the MFUs are shares of another one, "beats-peak" for each row that is too fast by every way of
/// counting. Says nothing of a GPU that is not in the catalogue.
void judge_attention(const std::vector<CheckedRow>& rows,
                     const KnownPeaks& peaks,
                     const KernelCheck& kernel,
                     std::vector<Finding>& findings);

/// Judges GEMMs, whose file does not say its format: a row above the BF16 peak shows that the
/// kernels are 8-bit, and BF16 joins what the check excludes. `attention_peak` (0: not known)
/// stands in for the BF16 peak of a GPU that is not in the catalogue.
void judge_gemm(const std::vector<CheckedRow>& rows,
                const KnownPeaks& peaks,
                double attention_peak,
                KernelCheck& kernel,
                std::vector<Finding>& findings);

/// The contradictions of tables that are about to be used, a warning for each kind of kernel
/// ("W-table-contradiction"). Looks at the MFU column only, and at GPUs of the catalogue.
[[nodiscard]] core::Warnings contradictions_of(const KernelTables& tables);

}  // namespace ridgeline::latency::measured
