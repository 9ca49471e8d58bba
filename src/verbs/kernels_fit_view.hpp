#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "latency/fit/fit_kernels.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {

/// Fits of the kernel model's constants, a line per operator and GPU, with the relative errors in
/// percent.
[[nodiscard]] std::string kernel_fit_table(const std::vector<latency::fit::OperatorFit>& fits,
                                           const report::TextStyle& style);
/// The fits for programs, with the constants: {fits[]}. Errors as shares.
[[nodiscard]] document::Node kernel_fit_tree(const std::vector<latency::fit::OperatorFit>& fits);

}  // namespace ridgeline::verbs
