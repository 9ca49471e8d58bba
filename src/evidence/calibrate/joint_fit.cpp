#include "evidence/calibrate/joint_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/statistics/student.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

constexpr int kJointIterations = 6;
constexpr int kJointHalvings = 4;
/// A step that leaves more than this part was hardly one.
constexpr double kWorthwhilePart = 0.99;
/// Derivatives are taken over this part of a constant's range, and of the logarithm of a time.
constexpr double kConstantStep = 0.02;
constexpr double kKernelStep = 0.05;
/// Kernels are tried no further from the model's than twice their spread, nor a factor of two.
constexpr double kMostSpreads = 2.0;
constexpr double kMostOfLog = 0.7;
constexpr int kPinnedIterations = 4;
/// Kernels are pinned at these parts of what nine in ten are within.
constexpr std::array<double, 4> kPins = {-1.0, -0.6, 0.6, 1.0};
/// A kernel whose time, e times as long, changes no figure by more than this share is not tried.
constexpr double kLeastEffectOfKernel = 0.01;
constexpr double kUpper = 0.95;  ///< Upper quantile of an interval that holds nine in ten.
/// Relative noise of a figure: another draw of the arrivals and the engine's steps changes it so
/// much (docs/accuracy.md, "The data's own spread").
constexpr double kNoise = 0.01;
constexpr double kNoiseOfTtft = 0.05;

using Logs = std::array<double, kNumKernels>;

class JointFit {
 public:
  JointFit(const Observations& observations, Constants start)
      : observations_(observations), constants_(std::move(start)) {
    for (const Observation& observation : observations.all()) {
      const double noise = observation.figure == validate::Figure::kTtft ? kNoiseOfTtft : kNoise;
      weights_.push_back(1.0 / (noise * noise));
    }
    residuals_ = residuals(constants_, kernels_);
  }

  void minimise() {
    for (int i = 0; i < kJointIterations; ++i) {
      const double before = cost();
      differentiate();
      if (!improve() || cost() > kWorthwhilePart * before) {
        break;
      }
    }
    differentiate();
  }

  /// This fit with one kernel's time held at `log`; it starts from this fit's derivatives.
  [[nodiscard]] JointFit pinned(std::size_t kernel, double log) const {
    JointFit fit = *this;
    for (std::size_t i = 0; i < fit.residuals_.size(); ++i) {
      fit.rows_[i][constants_.size() + kernel] = 0.0;
    }
    fit.pinned_ = kernel;
    fit.kernels_[kernel] = log;
    fit.residuals_ = fit.residuals(fit.constants_, fit.kernels_);
    for (int i = 0; i < kPinnedIterations && fit.improve(); ++i) {
    }
    return fit;
  }

  /// Whether any figure depends on it.
  [[nodiscard]] bool tells(std::size_t kernel) const {
    for (std::size_t i = 0; i < residuals_.size(); ++i) {
      if (std::abs(rows_[i][constants_.size() + kernel]) > kLeastEffectOfKernel) {
        return true;
      }
    }
    return false;
  }

  /// Squares of what is left, in units of the least noise.
  [[nodiscard]] double squares() const { return squares_of(residuals_); }
  /// With those of the kernels.
  [[nodiscard]] double cost() const { return cost_of(residuals_, kernels_); }

  /// Interval of each constant, where the noise's variance is `variance` times the least.
  [[nodiscard]] std::vector<Interval> intervals(double variance, std::int64_t freedom) const {
    const auto joint = covariance(rows_, all_weights(variance));
    Rows alone_rows = rows_;
    for (auto& row : alone_rows) {
      row.resize(constants_.size());
    }
    const auto alone = covariance(alone_rows, all_weights(variance));
    const double normal = core::normal_quantile(kUpper);
    const double student = statistics::student_quantile(kUpper, freedom);
    std::vector<Interval> found;
    for (std::size_t j = 0; j < constants_.size(); ++j) {
      const Constant& constant = constants_[j];
      double half = 1.0;
      if (joint && alone) {
        const double of_noise = (*alone)[j][j];
        const double of_kernels = std::max(0.0, (*joint)[j][j] - of_noise);
        half = std::sqrt(student * student * of_noise + normal * normal * of_kernels);
      }
      found.push_back({.lowest = constant.bounded(constant.value - half * constant.range()),
                       .highest = constant.bounded(constant.value + half * constant.range())});
    }
    return found;
  }

 private:
  [[nodiscard]] std::vector<double> residuals(const Constants& constants,
                                              const Logs& kernels) const {
    KernelTimes times{};
    std::ranges::transform(kernels, times.begin(), [](double log) { return core::exp(log); });
    return observations_.residuals(overrides_of(constants), times);
  }

  [[nodiscard]] double squares_of(const std::vector<double>& residuals) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      sum += weights_[i] * residuals[i] * residuals[i];
    }
    return sum;
  }

  [[nodiscard]] double cost_of(const std::vector<double>& residuals, const Logs& kernels) const {
    double sum = squares_of(residuals);
    for (const double log : kernels) {
      sum += weight_of_kernels() * log * log;
    }
    return sum;
  }

  [[nodiscard]] double weight_of_kernels() const {
    const double spread = observations_.kernel_spread();
    return 1.0 / (spread * spread);
  }

  /// Weights of the figures, then of each constant, which is known to within its range, then of
  /// each kernel.
  [[nodiscard]] std::vector<double> all_weights(double variance) const {
    std::vector<double> weights = weights_;
    for (double& weight : weights) {
      weight /= variance;
    }
    weights.resize(weights.size() + constants_.size(), 1.0);
    weights.resize(weights.size() + kNumKernels, weight_of_kernels());
    return weights;
  }

  /// Columns: constants by their ranges, then kernels by the logarithms of their times.
  void differentiate() {
    const std::size_t columns = constants_.size() + kNumKernels;
    rows_.assign(residuals_.size(), std::vector<double>(columns, 0.0));
    const auto fill = [&](std::size_t column, const std::vector<double>& there, double step) {
      for (std::size_t i = 0; i < there.size(); ++i) {
        rows_[i][column] = (there[i] - residuals_[i]) / step;
      }
    };
    for (std::size_t j = 0; j < constants_.size(); ++j) {
      Constants moved = constants_;
      const double least = kConstantStep * moved[j].range();
      const double step =
          moved[j].value + least > moved[j].parameter.highest ? -kConstantStep : kConstantStep;
      moved[j].value += step * moved[j].range();
      fill(j, residuals(moved, kernels_), step);
    }
    for (std::size_t k = 0; k < kNumKernels; ++k) {
      Logs moved = kernels_;
      moved[k] += kKernelStep;
      fill(constants_.size() + k, residuals(constants_, moved), kKernelStep);
    }
    for (std::size_t j = 0; j < columns; ++j) {
      rows_.emplace_back(columns, 0.0);
      rows_.back()[j] = 1.0;
    }
  }

  bool improve() {
    std::vector<double> right = residuals_;
    right.resize(right.size() + constants_.size(), 0.0);
    right.insert(right.end(), kernels_.begin(), kernels_.end());
    if (pinned_) {
      right[residuals_.size() + constants_.size() + *pinned_] = 0.0;
    }
    const auto step =
        solve_step({.jacobian = rows_, .residuals = right, .weights = all_weights(1.0)});
    double share = 1.0;
    for (int i = 0; step && i < kJointHalvings; ++i, share /= 2.0) {
      Constants constants = constants_;
      for (std::size_t j = 0; j < constants.size(); ++j) {
        Constant& constant = constants[j];
        constant.value = constant.bounded(constant.value + share * (*step)[j] * constant.range());
      }
      const double most = std::min(kMostOfLog, kMostSpreads * observations_.kernel_spread());
      Logs kernels = kernels_;
      for (std::size_t k = 0; k < kNumKernels; ++k) {
        kernels[k] = std::clamp(kernels[k] + share * (*step)[constants.size() + k], -most, most);
      }
      auto there = residuals(constants, kernels);
      if (cost_of(there, kernels) < cost()) {
        constants_ = std::move(constants);
        kernels_ = kernels;
        residuals_ = std::move(there);
        return true;
      }
    }
    return false;
  }

  const Observations& observations_;
  Constants constants_;
  Logs kernels_{};
  std::optional<std::size_t> pinned_ = {};
  std::vector<double> weights_;  ///< Per figure, by the least noise.
  std::vector<double> residuals_;
  Rows rows_;
};

}  // namespace

std::vector<Interval> joint_intervals(const Observations& observations, const Constants& fitted) {
  Constants built_in = fitted;
  for (Constant& constant : built_in) {
    constant.value = constant.before;
  }
  std::vector<JointFit> fits;
  for (const Constants& start : {fitted, built_in}) {
    fits.emplace_back(observations, start);
    fits.back().minimise();
  }
  const double nine_in_ten = core::normal_quantile(kUpper);
  const JointFit best = fits[0].cost() <= fits[1].cost() ? fits[0] : fits[1];
  for (std::size_t kernel = 0; kernel < kNumKernels; ++kernel) {
    for (std::size_t i = 0; best.tells(kernel) && i < kPins.size(); ++i) {
      fits.push_back(best.pinned(kernel, kPins[i] * nine_in_ten * observations.kernel_spread()));
    }
  }
  const double least = std::ranges::min_element(fits, {}, &JointFit::squares)->squares();
  const auto freedom = static_cast<std::int64_t>(observations.size() - fitted.size());
  const double variance = std::max(1.0, least / static_cast<double>(freedom));
  std::vector<Interval> all;
  for (const Constant& constant : fitted) {
    all.push_back({.lowest = constant.value, .highest = constant.value});
  }
  for (const JointFit& fit : fits) {
    if (fit.squares() - least > nine_in_ten * nine_in_ten * variance) {
      continue;
    }
    const auto found = fit.intervals(variance, freedom);
    for (std::size_t j = 0; j < all.size(); ++j) {
      all[j].lowest = std::min(all[j].lowest, found[j].lowest);
      all[j].highest = std::max(all[j].highest, found[j].highest);
    }
  }
  return all;
}

}  // namespace ridgeline::evidence::calibrate
