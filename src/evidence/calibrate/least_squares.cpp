#include "evidence/calibrate/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ridgeline::evidence::calibrate {
namespace {

/// A pivot smaller than this part of its column's own size means a singular matrix.
constexpr double kSingular = 1e-12;
/// A vector of which the others leave no more than this part depends on them.
constexpr double kDependent = 1e-9;

/// Solves A X = B for a symmetric positive matrix by elimination with pivots on the diagonal.
bool eliminate(Rows& a, Rows& b) {
  const std::size_t n = a.size();
  std::vector<double> size(n);
  for (std::size_t i = 0; i < n; ++i) {
    size[i] = std::abs(a[i][i]);
  }
  for (std::size_t k = 0; k < n; ++k) {
    if (!(std::abs(a[k][k]) > kSingular * size[k]) || size[k] == 0.0) {
      return false;
    }
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) {
        continue;
      }
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) {
        a[i][j] -= factor * a[k][j];
      }
      for (std::size_t j = 0; j < b[i].size(); ++j) {
        b[i][j] -= factor * b[k][j];
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (double& value : b[i]) {
      value /= a[i][i];
    }
  }
  return true;
}

std::vector<double> column_of(const Rows& jacobian, std::size_t column) {
  std::vector<double> values;
  values.reserve(jacobian.size());
  for (const auto& row : jacobian) {
    values.push_back(row[column]);
  }
  return values;
}

double product_of(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

double length_of(const std::vector<double>& a) {
  return std::sqrt(product_of(a, a));
}

/// Leaves of `a` what is at right angles to every vector of an orthonormal basis. Twice, for what
/// rounding left the first time.
void take_out(const Rows& basis, std::vector<double>& a) {
  for (int pass = 0; pass < 2; ++pass) {
    for (const auto& direction : basis) {
      const double share = product_of(direction, a);
      for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] -= share * direction[i];
      }
    }
  }
}

Rows normal_matrix(const Rows& jacobian, const std::vector<double>& weights) {
  const std::size_t n = jacobian.empty() ? 0 : jacobian.front().size();
  Rows normal(n, std::vector<double>(n, 0.0));
  for (std::size_t row = 0; row < jacobian.size(); ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        normal[i][j] += weights[row] * jacobian[row][i] * jacobian[row][j];
      }
    }
  }
  return normal;
}

}  // namespace

std::optional<std::vector<double>> solve_step(const LeastSquares& problem) {
  Rows normal = normal_matrix(problem.jacobian, problem.weights);
  const std::size_t n = normal.size();
  Rows right(n, std::vector<double>(1, 0.0));
  for (std::size_t row = 0; row < problem.jacobian.size(); ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      right[i][0] -= problem.weights[row] * problem.jacobian[row][i] * problem.residuals[row];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    normal[i][i] *= 1.0 + problem.damping;
  }
  if (n == 0 || !eliminate(normal, right)) {
    return std::nullopt;
  }
  std::vector<double> step(n);
  for (std::size_t i = 0; i < n; ++i) {
    step[i] = right[i][0];
  }
  return step;
}

std::optional<Rows> covariance(const Rows& jacobian, const std::vector<double>& weights) {
  Rows normal = normal_matrix(jacobian, weights);
  Rows inverse(normal.size(), std::vector<double>(normal.size(), 0.0));
  for (std::size_t i = 0; i < normal.size(); ++i) {
    inverse[i][i] = 1.0;
  }
  return eliminate(normal, inverse) ? std::optional(std::move(inverse)) : std::nullopt;
}

double own_share(const Rows& jacobian, std::size_t column) {
  const std::size_t count = jacobian.empty() ? 0 : jacobian.front().size();
  std::vector<double> target = column_of(jacobian, column);
  const double whole = length_of(target);
  if (whole == 0.0) {
    return 0.0;
  }
  // An orthonormal basis of the others; what depends on those before it adds nothing, so that
  // parameters without any effect, or with the same, do not spoil the answer about this one.
  Rows basis;
  for (std::size_t j = 0; j < count; ++j) {
    if (j == column) {
      continue;
    }
    std::vector<double> other = column_of(jacobian, j);
    const double before = length_of(other);
    take_out(basis, other);
    const double rest = length_of(other);
    if (rest > kDependent * before) {
      for (double& value : other) {
        value /= rest;
      }
      basis.push_back(std::move(other));
    }
  }
  take_out(basis, target);
  return length_of(target) / whole;
}

}  // namespace ridgeline::evidence::calibrate
