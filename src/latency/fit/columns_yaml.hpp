#pragma once

#include <span>
#include <string>

#include "latency/fit/fit_kernels.hpp"

namespace ridgeline::latency::fit {

/// The fitted sets as columns of a constants file, which read_overlay() reads: digits, comments and
/// all.
[[nodiscard]] std::string columns_yaml(std::span<const OperatorFit> fits);

}  // namespace ridgeline::latency::fit
