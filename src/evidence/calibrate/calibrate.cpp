#include "evidence/calibrate/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "evidence/calibrate/determined.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "evidence/calibrate/server_file.hpp"
#include "evidence/calibrate/uncertainty.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "latency/accuracy/bands.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using validate::Evidence;
using validate::Figure;

constexpr int kIterations = 8;
constexpr int kHalvings = 4;
/// A step that leaves more than this part of the squared errors was hardly one.
constexpr double kWorthwhile = 0.99;
constexpr std::array<double, 3> kProbes = {0.05, 0.01, 0.002};
constexpr double kDamping = 1e-9;
/// Other constants are taken where they leave less than this part of the squared errors.
constexpr double kMuchLess = 0.5;
/// Differences are taken over this part of a parameter's range.
constexpr double kDifference = 0.02;

double squares_of(const std::vector<double>& residuals) {
  double sum = 0.0;
  for (const double residual : residuals) {
    sum += residual * residual;
  }
  return sum;
}

bool is_highest(const Constant& constant) {
  return constant.value >= constant.parameter.highest;
}

bool is_at_bound(const Constant& constant) {
  return constant.value != constant.before &&
         (is_highest(constant) || constant.value <= constant.parameter.lowest);
}

/// Other constants to fit, and which are left out for it.
struct Choice {
  Constants constants;
  std::vector<LeftOut> left_out;
};

/// Without constant `j`, which is left out for `reason`; all at their built-in values.
Choice choice_without(std::size_t j, const LeftOut& reason, const Choice& from) {
  Choice choice = from;
  choice.left_out.push_back(reason);
  choice.left_out.back().name = from.constants[j].parameter.name;
  choice.constants.erase(choice.constants.begin() + static_cast<std::ptrdiff_t>(j));
  for (auto& constant : choice.constants) {
    constant.value = constant.before;
  }
  return choice;
}

/// Each constant in the place of which one could be fitted that too few figures left out, and
/// those that are left without a constant at its bound.
std::vector<Choice> other_choices(const Choice& from) {
  std::vector<Choice> choices;
  for (std::size_t j = 0; j < from.constants.size(); ++j) {
    for (std::size_t k = 0; k < from.left_out.size(); ++k) {
      if (!from.left_out[k].for_lack_of_figures) {
        continue;
      }
      Choice choice = choice_without(j, from.left_out[k], from);
      const auto added = constants_of({from.left_out[k].name});
      choice.constants.insert(choice.constants.end(), added.begin(), added.end());
      choice.left_out.erase(choice.left_out.begin() + static_cast<std::ptrdiff_t>(k));
      choices.push_back(std::move(choice));
    }
    if (from.constants.size() > 1 && is_at_bound(from.constants[j])) {
      choices.push_back(choice_without(
          j,
          {.name = {}, .reason = "it ends at its bound, and the others alone leave less"},
          from));
    }
  }
  return choices;
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
    for (Constant& constant : constants_) {
      constant.value = constant.parameter.start.value_or(constant.value);
    }
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
    // Constants that were asked for by name are not exchanged.
    if (options_.tries_others && options_.wanted.empty()) {
      try_others(jacobian);
    }
    sum_up(jacobian);
    result_.left_without_bounds = left_without_bounds();
    return std::move(result_);
  }

 private:
  static validate::PredictOptions predict_options(const CalibrateOptions& options) {
    return {.histories = options.histories,
            .seed = options.seed,
            .threads = options.threads,
            .overrides = options.overrides,
            .interrupt = options.interrupt};
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

  /// Where the fit leaves much or ends at a bound: with other constants.
  void try_others(Rows& jacobian) {
    if (left_now() <= kLeftInDoubt && std::ranges::none_of(constants_, is_at_bound)) {
      return;
    }
    const Choice first{.constants = constants_, .left_out = result_.left_out};
    for (Choice& choice : other_choices(first)) {
      const Constants kept = std::exchange(constants_, std::move(choice.constants));
      const std::vector<double> kept_residuals = residuals_;
      Rows other = jacobian_here();
      minimise(other);
      if (squares_of(residuals_) < kMuchLess * squares_of(kept_residuals)) {
        jacobian = std::move(other);
        result_.left_out = std::move(choice.left_out);
      } else {
        constants_ = kept;
        residuals_ = kept_residuals;
      }
    }
  }

  /// What a fit without the constants at their upper bounds leaves. The last step of all: the fit
  /// is not needed any more.
  std::optional<double> left_without_bounds() {
    if (std::ranges::none_of(constants_, is_highest)) {
      return std::nullopt;
    }
    std::erase_if(constants_, is_highest);
    for (auto& constant : constants_) {
      constant.value = constant.before;
    }
    Rows jacobian = jacobian_here();
    if (!constants_.empty()) {
      minimise(jacobian);
    }
    return left_now();
  }

  [[nodiscard]] double left_now() const {
    return std::max(median_left_of_tpot().value_or(0.0), errors_of(residuals_).median);
  }

  /// Columns are scaled to the parameters' ranges: an entry says what the whole range would do.
  Rows jacobian_here() {
    residuals_ = residuals_with(constants_);
    return jacobian_of(observations_, residuals_);
  }

  [[nodiscard]] Rows jacobian_of(const Observations& observations,
                                 const std::vector<double>& residuals) const {
    Rows jacobian(observations.size(), std::vector<double>(constants_.size(), 0.0));
    for (std::size_t j = 0; j < constants_.size(); ++j) {
      Constants moved = constants_;
      const double step = kDifference * moved[j].range();
      const double direction = moved[j].value + step > moved[j].parameter.highest ? -1.0 : 1.0;
      moved[j].value += direction * step;
      const auto there = observations.residuals(overrides_of(moved));
      for (std::size_t i = 0; i < there.size(); ++i) {
        jacobian[i][j] = direction * (there[i] - residuals[i]) / kDifference;
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
    result_.unused = observations_.unused();
    result_.after = errors_of(residuals_);
    result_.left_of_tpot = median_left_of_tpot();
    result_.server = common_server(evidence_, observations_.records(), options_.overrides);
    const FitEnd end{.observations = observations_,
                     .constants = constants_,
                     .jacobian = jacobian,
                     .residuals = residuals_};
    result_.fitted = with_intervals(end, options_.tries_others);
    if (options_.tries_others && result_.records > 1) {
      const auto held_out = held_out_residuals(
          end, {.observations = observations_, .jacobian = jacobian, .residuals = residuals_});
      result_.cross_validated = errors_of(held_out);
      find_bands(end, held_out);
    }
  }

  /// Bands of the fitted figures, and of output tokens per second, which follow from them.
  void find_bands(const FitEnd& end, const std::vector<double>& held_out) {
    const auto range = [](const std::vector<double>& values) -> accuracy::Range {
      const auto [least, most] = std::ranges::minmax(values);
      return {.low = least, .high = most};
    };
    result_.own = {.server = observations_.server(),
                   .in_flight = range(observations_.in_flight()),
                   .input_tokens = range(observations_.prompts()),
                   .bands = bands_of(observations_, held_out)};
    Observations rates(evidence_, predict_options(options_), {Figure::kOutputThroughput});
    if (rates.find(overrides_of(constants_)).empty()) {
      const auto residuals = rates.residuals(overrides_of(constants_));
      const Rows jacobian = jacobian_of(rates, residuals);
      const auto others = held_out_residuals(
          end, {.observations = rates, .jacobian = jacobian, .residuals = residuals});
      std::ranges::copy(bands_of(rates, others), std::back_inserter(result_.own.bands));
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

double Calibration::left_by_servers() const {
  return std::max(left(), left_without_bounds.value_or(0.0));
}

std::vector<FittedParameter> Calibration::at_bounds() const {
  std::vector<FittedParameter> found;
  std::ranges::copy_if(fitted, std::back_inserter(found), [](const FittedParameter& constant) {
    return constant.at_bound && constant.value != constant.before;
  });
  return found;
}

bool Calibration::kernels_match() const {
  const auto highest = std::ranges::count_if(fitted, [](const FittedParameter& constant) {
    return constant.value >= constant.parameter.highest;
  });
  return left_by_servers() <= kLeftByKernels && highest <= 1;
}

core::Result<Calibration> calibrate(const std::vector<Evidence>& evidence,
                                    const CalibrateOptions& options) {
  auto found = Fitter(evidence, options).run();
  if (options.interrupt != nullptr && *options.interrupt) {
    return core::fail(core::Error{.message = "interrupted: nothing is calibrated"});
  }
  return found;
}

}  // namespace ridgeline::evidence::calibrate
