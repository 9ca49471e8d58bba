#include "sim/calibrate/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "sim/calibrate/determined.hpp"
#include "sim/calibrate/least_squares.hpp"
#include "sim/calibrate/observations.hpp"
#include "sim/calibrate/parameters.hpp"
#include "sim/calibrate/server_file.hpp"
#include "sim/calibrate/uncertainty.hpp"
#include "sim/scenario.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/prediction.hpp"

namespace ridgeline::sim::calibrate {
namespace {

using validate::Evidence;
using validate::Figure;

constexpr int kIterations = 8;
constexpr int kHalvings = 4;
/// A step that leaves more than this part of the squared errors was hardly one.
constexpr double kWorthwhile = 0.99;
constexpr std::array<double, 3> kProbes = {0.05, 0.01, 0.002};
constexpr double kDamping = 1e-9;
/// Differences are taken over this part of a parameter's range.
constexpr double kDifference = 0.02;

double squares_of(const std::vector<double>& residuals) {
  double sum = 0.0;
  for (const double residual : residuals) {
    sum += residual * residual;
  }
  return sum;
}

core::Result<void> check_names(const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const auto& parameter : parameters()) {
    names.push_back(parameter.name);
  }
  core::Errors errors;
  for (const auto& name : wanted) {
    if (std::ranges::find(names, name) == names.end()) {
      errors.push_back({.field = "--fit",
                        .message = fmt::format("\"{}\" is no constant that can be fitted, "
                                               "expected one of {}",
                                               name,
                                               fmt::join(names, ", ")),
                        .where = {.file = "command line"}});
    }
  }
  return errors.empty() ? core::Result<void>() : core::fail(std::move(errors));
}

class Fitter {
 public:
  Fitter(const std::vector<Evidence>& evidence, const CalibrateOptions& options)
      : evidence_(evidence), options_(options), observations_(evidence, predict_options(options)) {}

  core::Result<Calibration> run() {
    if (const auto known = check_names(options_.wanted); !known) {
      return core::fail(known.error());
    }
    constants_ = constants_of(options_.wanted);
    if (const auto reason = observations_.find(overrides_of(constants_)); !reason.empty()) {
      return core::fail(
          core::Error{.message = fmt::format("nothing to calibrate with: {}", reason)});
    }
    result_.before = errors_of(residuals_with(constants_));
    drop_undistinguished(constants_, observations_, result_.left_out);
    if (constants_.empty()) {
      return core::fail(cannot_be_fitted(result_.left_out));
    }
    Rows jacobian = jacobian_here();
    drop_undetermined(constants_, jacobian, result_.left_out);
    const bool lacks_wanted = !options_.wanted.empty() && !result_.left_out.empty();
    if (constants_.empty() || lacks_wanted) {
      return core::fail(cannot_be_fitted(result_.left_out));
    }
    minimise(jacobian);
    sum_up(jacobian);
    return std::move(result_);
  }

 private:
  static validate::PredictOptions predict_options(const CalibrateOptions& options) {
    return {.histories = options.histories,
            .seed = options.seed,
            .threads = options.threads,
            .overrides = options.overrides};
  }

  [[nodiscard]] std::vector<double> residuals_with(const Constants& constants) const {
    return observations_.residuals(overrides_of(constants));
  }

  /// Until neither a step nor a probe leaves much less.
  void minimise(Rows& jacobian) {
    for (int i = 0; i < kIterations; ++i) {
      const double before = squares_of(residuals_);
      if (improve(jacobian)) {
        jacobian = jacobian_here();
      }
      if (squares_of(residuals_) <= kWorthwhile * before) {
        continue;
      }
      if (!probe()) {
        break;
      }
      jacobian = jacobian_here();
    }
  }

  /// Columns are scaled to the parameters' ranges: an entry says what the whole range would do.
  Rows jacobian_here() {
    residuals_ = residuals_with(constants_);
    Rows jacobian(observations_.size(), std::vector<double>(constants_.size(), 0.0));
    for (std::size_t j = 0; j < constants_.size(); ++j) {
      Constants moved = constants_;
      const double step = kDifference * moved[j].range();
      const double direction = moved[j].value + step > moved[j].parameter.highest ? -1.0 : 1.0;
      moved[j].value += direction * step;
      const auto there = residuals_with(moved);
      for (std::size_t i = 0; i < there.size(); ++i) {
        jacobian[i][j] = direction * (there[i] - residuals_[i]) / kDifference;
      }
    }
    return jacobian;
  }

  /// A Gauss-Newton step, halved until the errors shrink: simulations jump a little where a request
  /// falls into the next step. Whether one was made.
  bool improve(const Rows& jacobian) {
    const std::vector<double> weights(observations_.size(), 1.0);
    const auto step = solve_step(
        {.jacobian = jacobian, .residuals = residuals_, .weights = weights, .damping = kDamping});
    double share = 1.0;
    for (int i = 0; step && i < kHalvings; ++i, share /= 2.0) {
      Constants next = constants_;
      for (std::size_t j = 0; j < next.size(); ++j) {
        next[j].value = next[j].bounded(next[j].value + share * (*step)[j] * next[j].range());
      }
      if (squares_of(residuals_with(next)) < squares_of(residuals_)) {
        constants_ = std::move(next);
        return true;
      }
    }
    return false;
  }

  /// Where no derivative leads on: one constant at a time, by less and less of its range. Whether
  /// that was worthwhile.
  bool probe() {
    bool moved = false;
    for (const double share : kProbes) {
      for (std::size_t j = 0; j < constants_.size(); ++j) {
        for (const double direction : {-1.0, 1.0}) {
          Constants next = constants_;
          next[j].value = next[j].bounded(next[j].value + direction * share * next[j].range());
          std::vector<double> there = residuals_with(next);
          if (squares_of(there) < kWorthwhile * squares_of(residuals_)) {
            constants_ = std::move(next);
            residuals_ = std::move(there);
            moved = true;
          }
        }
      }
    }
    return moved;
  }

  /// What is left of the errors of the time per output token, in the median; nothing where it was
  /// not measured.
  [[nodiscard]] std::optional<double> median_left_of_tpot() const {
    std::vector<double> residuals;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      if (observations_.all()[i].figure == Figure::kTpot) {
        residuals.push_back(residuals_[i]);
      }
    }
    return residuals.empty() ? std::nullopt : std::optional(errors_of(residuals).median);
  }

  void sum_up(const Rows& jacobian) {
    result_.records = static_cast<std::int64_t>(observations_.records().size());
    result_.figures = static_cast<std::int64_t>(observations_.size());
    result_.after = errors_of(residuals_);
    result_.left_of_tpot = median_left_of_tpot();
    result_.server = common_server(evidence_, observations_.records(), options_.overrides);
    const FitEnd end{.observations = observations_,
                     .constants = constants_,
                     .jacobian = jacobian,
                     .residuals = residuals_};
    result_.fitted = with_intervals(end, options_.seed);
    if (result_.records > 1) {
      const auto held_out = held_out_residuals(end);
      result_.cross_validated = errors_of(held_out);
      result_.bands = bands_of(observations_, held_out);
    }
  }

  const std::vector<Evidence>& evidence_;
  const CalibrateOptions& options_;
  Observations observations_;
  Constants constants_;
  std::vector<double> residuals_;
  Calibration result_;
};

}  // namespace

double Calibration::left() const {
  return std::max(left_of_tpot.value_or(0.0), after.median);
}

core::Result<Calibration> calibrate(const std::vector<Evidence>& evidence,
                                    const CalibrateOptions& options) {
  return Fitter(evidence, options).run();
}

}  // namespace ridgeline::sim::calibrate
