#include "sim/calibrate/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace ridgeline::sim::calibrate {
namespace {

/// A pivot smaller than this part of its column's own size means a singular matrix.
constexpr double kSingular = 1e-12;

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

double own_share(const Rows& jacobian, std::size_t column) {
  double whole = 0.0;
  Rows others;
  std::vector<double> target;
  for (const auto& row : jacobian) {
    whole += row[column] * row[column];
    std::vector<double> rest = row;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(column));
    others.push_back(std::move(rest));
    target.push_back(-row[column]);
  }
  if (whole == 0.0) {
    return 0.0;
  }
  const std::vector<double> weights(jacobian.size(), 1.0);
  const auto fit = solve_step({.jacobian = others, .residuals = target, .weights = weights});
  if (!fit) {
    return others.empty() || others.front().empty() ? 1.0 : 0.0;
  }
  double left = 0.0;
  for (std::size_t row = 0; row < jacobian.size(); ++row) {
    double value = jacobian[row][column];
    for (std::size_t i = 0; i < fit->size(); ++i) {
      value -= others[row][i] * (*fit)[i];
    }
    left += value * value;
  }
  return std::sqrt(left / whole);
}

}  // namespace ridgeline::sim::calibrate
