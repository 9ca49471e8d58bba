#include "latency/fit/least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"

namespace ridgeline::latency::fit {
namespace {

/// Share of an unknown's size: wide enough for formulas with steps in them (whole tiles, minima).
constexpr double kDifference = 1e-3;
/// Sizes below this share of the range count as this: for unknowns that start at 0.
constexpr double kLeastSize = 0.01;
constexpr double kFirstDamping = 1e-2;
constexpr double kLeastDamping = 1e-9;
constexpr double kMostDamping = 1e9;
constexpr double kDampingDown = 0.3;
constexpr double kDampingUp = 4.0;
/// A relative gain in cost below which a step has found nothing; this many in a row end the fit.
constexpr double kGain = 1e-5;
constexpr int kPatience = 3;

/// Solves the symmetric positive definite system in place (Cholesky); false when it is not.
bool solve(std::vector<double>& matrix, std::vector<double>& vector) {
  const std::size_t n = vector.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) {
        sum -= matrix[i * n + k] * matrix[j * n + k];
      }
      if (i != j) {
        matrix[i * n + j] = sum / matrix[j * n + j];
      } else if (sum > 0.0) {
        matrix[i * n + i] = std::sqrt(sum);
      } else {
        return false;
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      vector[i] -= matrix[i * n + k] * vector[k];
    }
    vector[i] /= matrix[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) {
      vector[i] -= matrix[k * n + i] * vector[k];
    }
    vector[i] /= matrix[i * n + i];
  }
  return true;
}

class MarquardtSearch {
 public:
  MarquardtSearch(std::span<const Unknown> unknowns,
                  std::size_t rows,
                  const Residuals& residuals,
                  const FitSettings& settings)
      : unknowns_(unknowns),
        evaluate_(residuals),
        scale_(settings.loss_scale),
        residuals_(rows),
        trial_residuals_(rows),
        columns_(unknowns.size(), std::vector<double>(rows)) {
    for (const Unknown& unknown : unknowns) {
      RIDGELINE_CHECK(unknown.lowest <= unknown.start && unknown.start <= unknown.highest,
                      "a fit starts within its bounds");
      values_.push_back(unknown.start);
    }
  }

  FitResult run(int most_iterations) {
    evaluate_(values_, residuals_);
    cost_ = cost_of(residuals_);
    double damping = kFirstDamping;
    int idle = 0;
    int iteration = 0;
    while (iteration < most_iterations && idle < kPatience && damping < kMostDamping) {
      ++iteration;
      linearise();
      const double before = cost_;
      while (damping < kMostDamping && !step(damping)) {
        damping *= kDampingUp;
      }
      damping = std::max(kLeastDamping, damping * kDampingDown);
      idle = before - cost_ <= kGain * before ? idle + 1 : 0;
    }
    return {.values = values_, .cost = cost_, .iterations = iteration};
  }

 private:
  [[nodiscard]] double cost_of(std::span<const double> residuals) const {
    double sum = 0.0;
    for (const double residual : residuals) {
      const double z = residual / scale_;
      sum += 2.0 * (std::sqrt(1.0 + z * z) - 1.0);
    }
    return sum / static_cast<double>(residuals.size());
  }

  [[nodiscard]] double size_of(std::size_t i) const {
    const double range = unknowns_[i].highest - unknowns_[i].lowest;
    return std::max(std::abs(values_[i]), kLeastSize * range);
  }

  /// Residuals' slopes in each unknown, in units of its size, and the normal equations.
  void linearise() {
    const std::size_t n = values_.size();
    for (std::size_t i = 0; i < n; ++i) {
      const Unknown& unknown = unknowns_[i];
      if (unknown.lowest == unknown.highest) {
        std::ranges::fill(columns_[i], 0.0);
        continue;
      }
      const double size = size_of(i);
      std::vector<double> moved = values_;
      moved[i] += kDifference * size;
      if (moved[i] > unknown.highest) {
        moved[i] = values_[i] - kDifference * size;
      }
      evaluate_(moved, trial_residuals_);
      const double distance = (moved[i] - values_[i]) / size;
      for (std::size_t row = 0; row < residuals_.size(); ++row) {
        columns_[i][row] = (trial_residuals_[row] - residuals_[row]) / distance;
      }
    }
    normal_.assign(n * n, 0.0);
    gradient_.assign(n, 0.0);
    for (std::size_t row = 0; row < residuals_.size(); ++row) {
      const double z = residuals_[row] / scale_;
      const double weight = 1.0 / std::sqrt(1.0 + z * z);
      for (std::size_t i = 0; i < n; ++i) {
        const double weighted = weight * columns_[i][row];
        gradient_[i] += weighted * residuals_[row];
        for (std::size_t j = 0; j <= i; ++j) {
          normal_[i * n + j] += weighted * columns_[j][row];
        }
      }
    }
  }

  /// Unknowns that take part in a step: not held, not pushed out of their bounds, and seen by the
  /// residuals.
  [[nodiscard]] std::vector<std::size_t> free_unknowns() const {
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const bool at_low = values_[i] <= unknowns_[i].lowest && gradient_[i] > 0.0;
      const bool at_high = values_[i] >= unknowns_[i].highest && gradient_[i] < 0.0;
      if (normal_[i * values_.size() + i] > 0.0 && !at_low && !at_high) {
        free.push_back(i);
      }
    }
    return free;
  }

  /// Tries the damped step; takes it when it lowers the cost.
  bool step(double damping) {
    const std::vector<std::size_t> free = free_unknowns();
    const std::size_t n = free.size();
    std::vector<double> matrix(n * n);
    std::vector<double> change(n);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        matrix[a * n + b] = normal_[free[a] * values_.size() + free[b]];
      }
      matrix[a * n + a] *= 1.0 + damping;
      change[a] = -gradient_[free[a]];
    }
    if (!solve(matrix, change)) {
      return false;
    }
    std::vector<double> trial = values_;
    for (std::size_t a = 0; a < n; ++a) {
      const std::size_t i = free[a];
      trial[i] = std::clamp(
          values_[i] + change[a] * size_of(i), unknowns_[i].lowest, unknowns_[i].highest);
    }
    evaluate_(trial, trial_residuals_);
    const double cost = cost_of(trial_residuals_);
    if (!(cost < cost_)) {
      return false;
    }
    values_ = std::move(trial);
    residuals_.swap(trial_residuals_);
    cost_ = cost;
    return true;
  }

  std::span<const Unknown> unknowns_;
  const Residuals& evaluate_;
  double scale_;
  std::vector<double> values_;
  double cost_ = 0.0;
  std::vector<double> residuals_;
  std::vector<double> trial_residuals_;
  std::vector<std::vector<double>> columns_;
  std::vector<double> normal_;  ///< Lower triangle.
  std::vector<double> gradient_;
};

}  // namespace

FitResult least_squares(std::span<const Unknown> unknowns,
                        std::size_t rows,
                        const Residuals& residuals,
                        const FitSettings& settings) {
  RIDGELINE_CHECK(rows > 0 && settings.loss_scale > 0.0, "a fit has rows and a scale");
  return MarquardtSearch(unknowns, rows, residuals, settings).run(settings.iterations);
}

}  // namespace ridgeline::latency::fit
