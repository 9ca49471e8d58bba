#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace ridgeline::evidence::calibrate {

/// A matrix by rows: one row per observation, one column per parameter.
using Rows = std::vector<std::vector<double>>;

/// The step d that minimises the sum over rows of weight * (residual + row . d)^2; `damping` adds
/// that share to the diagonal of the normal equations (Levenberg, Marquardt). Nothing when they are
/// singular. All sizes must agree.
struct LeastSquares {
  const Rows& jacobian;
  const std::vector<double>& residuals;
  const std::vector<double>& weights;
  double damping = 0.0;
};
[[nodiscard]] std::optional<std::vector<double>> solve_step(const LeastSquares& problem);

/// Covariance of a solution, where each row errs with a variance of one over its weight. Nothing
/// when it is not determined.
[[nodiscard]] std::optional<Rows> covariance(const Rows& jacobian,
                                             const std::vector<double>& weights);

/// How much of column j of the matrix the other columns cannot explain: 1 when it is orthogonal to
/// them, 0 when it is a combination of them (or zero itself).
[[nodiscard]] double own_share(const Rows& jacobian, std::size_t column);

}  // namespace ridgeline::evidence::calibrate
