#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace ridgeline::latency::fit {

/// One unknown of a fit.
struct Unknown {
  double lowest = 0.0;  ///< Bounds, inclusive; an unknown with equal bounds is held there.
  double highest = 1.0;
  double start = 0.5;
};

/// Writes one residual per row at these values. Pure; called many times.
using Residuals = std::function<void(std::span<const double> values, std::span<double> residuals)>;

struct FitSettings {
  /// Residuals well above it count by their size, not its square: outliers pull less.
  double loss_scale = 0.04;
  int iterations = 60;
};

struct FitResult {
  std::vector<double> values;
  double cost = 0.0;  ///< Mean soft-L1 loss per row, in squares of the loss scale.
  int iterations = 0;
};

/// The bounded values with the least sum of soft-L1 losses, 2 (sqrt(1 + (r/s)^2) - 1), near the
/// start: Levenberg and Marquardt's method (D. W. Marquardt, "An algorithm for least-squares
/// estimation of nonlinear parameters", SIAM J. Appl. Math. 11(2), 1963) on reweighted residuals,
/// with a one-sided numeric Jacobian, and unknowns that would leave their bounds held there for a
/// step. Deterministic. `rows` is positive, starts lie within bounds, residuals are finite.
[[nodiscard]] FitResult least_squares(std::span<const Unknown> unknowns,
                                      std::size_t rows,
                                      const Residuals& residuals,
                                      const FitSettings& settings = {});

}  // namespace ridgeline::latency::fit
