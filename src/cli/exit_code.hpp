#pragma once

#include <cstdint>

#include "core/result.hpp"

namespace ridgeline::cli {

/// What the process answers (docs/cli.md).
enum class ExitCode : std::uint8_t {
  kOk = 0,
  kDiffers = 1,       ///< A comparison differs, or points of a sweep were refused.
  kUsage = 2,         ///< Bad usage, configuration, input data or path.
  kInfeasible = 4,    ///< The model does not fit, or the run passes the range of simulated time.
  kInternal = 70,     ///< Our fault.
  kThreshold = 99,    ///< A threshold was not met.
  kInterrupted = 130  ///< Ctrl-C; partial results were printed.
};

/// The gravest of the errors: internal, then bad input, then infeasible.
[[nodiscard]] ExitCode exit_code(const core::Errors& errors);

}  // namespace ridgeline::cli
