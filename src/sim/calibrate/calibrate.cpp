#include "sim/calibrate/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "engine/serving.hpp"
#include "sim/calibrate/least_squares.hpp"
#include "sim/scenario.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/measured_run.hpp"
#include "sim/validate/prediction.hpp"
#include "sim/validate/scores.hpp"

namespace ridgeline::sim::calibrate {
namespace {

using validate::Evidence;
using validate::Figure;
using validate::Level;

constexpr std::array<Figure, 3> kCompared = {Figure::kE2e, Figure::kTtft, Figure::kTpot};
constexpr int kIterations = 8;
constexpr int kHalvings = 4;
/// A step that leaves more than this part of the squared errors was hardly one.
constexpr double kWorthwhile = 0.99;
constexpr std::array<double, 3> kProbes = {0.05, 0.01, 0.002};
constexpr double kDamping = 1e-9;
/// Differences are taken over this part of a parameter's range.
constexpr double kDifference = 0.02;
/// A parameter whose whole range moves no figure by more than this share is not told by them.
constexpr double kLeastEffect = 0.002;
/// Nor is one whose effect the others can imitate but for this share.
constexpr double kLeastOwnShare = 0.05;
/// A number of which the largest mean of a record is no more than this above the smallest does not
/// vary: such records fit a cost of each and a constant equally well.
constexpr double kLeastVariation = 0.1;
/// Errors of the time per output token, or of all figures, that constants leave: the kernels'.
/// Three times what `validate` finds for networks and GPUs that it knows (docs/accuracy.md).
constexpr double kKernelsDiffer = 15.0;
constexpr int kBootstrapSamples = 400;
constexpr double kIntervalTail = 0.05;
constexpr double kBandShare = 0.9;

/// One compared number.
struct Observation {
  std::size_t record = 0;
  Figure figure = Figure::kE2e;
  double measured = 0.0;
};

double quantile_of(std::vector<double> values, double p) {
  std::ranges::sort(values);
  const double at = p * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(std::floor(at));
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (at - std::floor(at));
}

double squares_of(const std::vector<double>& residuals) {
  double sum = 0.0;
  for (const double residual : residuals) {
    sum += residual * residual;
  }
  return sum;
}

FitErrors errors_of(const std::vector<double>& residuals) {
  std::vector<double> absolute;
  FitErrors errors;
  for (const double residual : residuals) {
    absolute.push_back(100.0 * std::abs(residual));
    errors.mean += absolute.back() / static_cast<double>(residuals.size());
  }
  errors.median = quantile_of(std::move(absolute), 0.5);
  return errors;
}

class Fitter {
 public:
  Fitter(const std::vector<Evidence>& evidence, const CalibrateOptions& options)
      : evidence_(evidence), options_(options) {}

  core::Result<Calibration> run() {
    if (auto problem = choose_parameters(); !problem.empty()) {
      return core::fail(std::move(problem));
    }
    if (auto problem = observe(); !problem.empty()) {
      return core::fail(std::move(problem));
    }
    result_.before = errors_of(residuals_at(values_));
    drop_undistinguished();
    if (chosen_.empty()) {
      return core::fail(refuse());
    }
    Rows jacobian = jacobian_at(values_);
    if (auto problem = drop_untold(jacobian); !problem.empty()) {
      return core::fail(std::move(problem));
    }
    for (int i = 0; i < kIterations; ++i) {
      const double before = squares_of(residuals_);
      const bool stepped = improve(jacobian);
      if (stepped) {
        jacobian = jacobian_at(values_);
      }
      if (squares_of(residuals_) <= kWorthwhile * before) {
        continue;
      }
      if (!probe()) {
        break;
      }
      jacobian = jacobian_at(values_);
    }
    sum_up(jacobian);
    return std::move(result_);
  }

 private:
  core::Errors choose_parameters() {
    core::Errors errors;
    for (const auto& name : options_.wanted) {
      const auto& known = parameters();
      if (std::ranges::find(known, name, &Parameter::name) == known.end()) {
        std::vector<std::string> names;
        for (const auto& parameter : known) {
          names.push_back(parameter.name);
        }
        errors.push_back({.field = "--fit",
                          .message = fmt::format("\"{}\" is no constant that can be fitted, "
                                                 "expected one of {}",
                                                 name,
                                                 fmt::join(names, ", ")),
                          .where = {.file = "command line"}});
      }
    }
    const auto& fitted = engine::serving_constants();
    for (const auto& parameter : parameters()) {
      const auto& wanted = options_.wanted;
      if (wanted.empty() || std::ranges::find(wanted, parameter.name) != wanted.end()) {
        chosen_.push_back(parameter);
      }
    }
    for (const auto& parameter : chosen_) {
      const double before = default_of(fitted, parameter.name);
      values_.push_back(before);
      defaults_.push_back(before);
    }
    return errors;
  }

  static double default_of(const engine::ServingConstants& fitted, const std::string& name) {
    const auto microseconds = [](core::Duration time) { return time.to_microseconds(); };
    if (name == "delivery_time") {
      return microseconds(fitted.path.deliver);
    }
    if (name == "frontend_token_time") {
      return microseconds(fitted.path.frontend_per_token);
    }
    if (name == "close_time") {
      return microseconds(fitted.path.close);
    }
    return microseconds(name == "host_step_time" ? fitted.host.per_step : fitted.host.per_sequence);
  }

  [[nodiscard]] std::vector<validate::PartPrediction> predict_at(
      const std::vector<double>& values) const {
    std::vector<Evidence> copy = evidence_;
    const auto runs = validate::group_runs(copy);
    validate::PredictOptions predict;
    predict.histories = options_.histories;
    predict.threads = options_.threads;
    predict.seed = options_.seed;
    predict.overrides = options_.overrides;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      predict.overrides.push_back({.path = fmt::format("serving.{}", chosen_[i].name),
                                   .text = fmt::format("{:.6f}us", values[i])});
    }
    return validate::predict(copy, runs, predict);
  }

  /// What can be compared, below saturation.
  core::Errors observe() {
    const auto predictions = predict_at(values_);
    std::string reason = "no record";
    for (std::size_t i = 0; i < evidence_.size(); ++i) {
      std::string why;
      if (validate::standing_of(evidence_[i], predictions[i], why) != validate::Standing::kScored) {
        reason = why;
        continue;
      }
      ++result_.records;
      note_server(evidence_[i]);
      prompts_.push_back(mean_prompt(evidence_[i]));
      in_flight_.push_back(predictions[i].prediction->mean_in_flight);
      for (const Figure figure : kCompared) {
        const auto& measured = evidence_[i].measured.at(figure, Level::kMean);
        if (measured && predictions[i].prediction->figures.at(figure, Level::kMean)) {
          observations_.push_back({.record = i, .figure = figure, .measured = *measured});
        }
      }
    }
    result_.figures = static_cast<std::int64_t>(observations_.size());
    if (observations_.empty()) {
      return {{.message = fmt::format("nothing to calibrate with: {}", reason)}};
    }
    return {};
  }

  static double mean_prompt(const Evidence& evidence) {
    double tokens = 0.0;
    double rows = 0.0;
    for (const auto& stage : evidence.stages) {
      for (const auto& row : stage.rows) {
        tokens += static_cast<double>(row.input_tokens);
        rows += 1.0;
      }
    }
    return rows > 0.0 ? tokens / rows : evidence.input.mean;
  }

  /// As the scenario names them: what the user states wins over the record.
  void note_server(const Evidence& evidence) {
    const auto name = [&](std::string_view path, const std::string& recorded) {
      const auto stated = std::ranges::find(options_.overrides, path, &Override::path);
      return stated == options_.overrides.end() ? recorded : stated->text;
    };
    const std::string server =
        fmt::format("{} on {}", name("model", evidence.model), name("gpu", evidence.gpu));
    if (result_.server.find(server) == std::string::npos) {
      result_.server += (result_.server.empty() ? "" : ", ") + server;
    }
  }

  [[nodiscard]] std::vector<double> residuals_at(const std::vector<double>& values) const {
    const auto predictions = predict_at(values);
    std::vector<double> residuals;
    for (const auto& observation : observations_) {
      const double predicted = predictions[observation.record]
                                   .prediction->figures.at(observation.figure, Level::kMean)
                                   .value_or(observation.measured);
      residuals.push_back(predicted / observation.measured - 1.0);
    }
    return residuals;
  }

  /// Columns are scaled to the parameters' ranges: an entry says what the whole range would do.
  Rows jacobian_at(const std::vector<double>& values) {
    residuals_ = residuals_at(values);
    Rows jacobian(observations_.size(), std::vector<double>(chosen_.size(), 0.0));
    for (std::size_t j = 0; j < chosen_.size(); ++j) {
      std::vector<double> moved = values;
      const double step = kDifference * range_of(j);
      const double direction = values[j] + step > chosen_[j].highest ? -1.0 : 1.0;
      moved[j] += direction * step;
      const auto there = residuals_at(moved);
      for (std::size_t i = 0; i < there.size(); ++i) {
        jacobian[i][j] = direction * (there[i] - residuals_[i]) / kDifference;
      }
    }
    return jacobian;
  }

  [[nodiscard]] double range_of(std::size_t j) const {
    return chosen_[j].highest - chosen_[j].lowest;
  }

  /// Takes out costs of each token or sequence where their number does not vary: the constant
  /// beside it stands for both.
  void drop_undistinguished() {
    for (std::size_t j = chosen_.size(); j-- > 0;) {
      const Parameter parameter = chosen_[j];
      if (parameter.each.empty()) {
        continue;
      }
      const auto& numbers = parameter.each == "prompt tokens" ? prompts_ : in_flight_;
      const auto [least, most] = std::ranges::minmax(numbers);
      if (most <= (1.0 + kLeastVariation) * least) {
        result_.left_out.push_back(
            {.name = parameter.name,
             .reason = fmt::format("not told apart from {}: all records have about {:.4g} {}",
                                   parameter.constant,
                                   most,
                                   parameter.each)});
        remove(j);
      }
    }
  }

  /// Takes out what the measurements do not determine, the least first; of several that do the
  /// same, the costs of each before the constants.
  core::Errors drop_untold(Rows& jacobian) {
    constexpr double kFirst = 1.0;  // shares are 0 to 1: undetermined costs come first
    while (!chosen_.empty()) {
      std::size_t worst = 0;
      double least_rank = 3.0;
      double least = 1.0;
      std::string reason;
      for (std::size_t j = 0; j < chosen_.size(); ++j) {
        double effect = 0.0;
        for (const auto& row : jacobian) {
          effect = std::max(effect, std::abs(row[j]));
        }
        const double share = effect < kLeastEffect ? 0.0 : own_share(jacobian, j);
        const bool constant = chosen_[j].each.empty();
        const bool untold = share < kLeastOwnShare;
        const double rank = share + (untold && !constant ? 0.0 : kFirst);
        if (rank < least_rank) {
          least_rank = rank;
          least = share;
          worst = j;
          reason = effect < kLeastEffect
                       ? fmt::format("no measured figure depends on it (it shows in {})",
                                     chosen_[j].seen_in)
                       : fmt::format(
                             "the others do the same to every measured figure "
                             "(it shows in {})",
                             chosen_[j].seen_in);
        }
      }
      if (least >= kLeastOwnShare && observations_.size() > chosen_.size()) {
        return {};
      }
      if (least >= kLeastOwnShare) {
        worst = last_to_give_up();
        reason = fmt::format(
            "{} measured figures cannot tell {} constants", observations_.size(), chosen_.size());
      }
      result_.left_out.push_back({.name = chosen_[worst].name, .reason = reason});
      remove(worst);
      for (auto& row : jacobian) {
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(worst));
      }
    }
    return refuse();
  }

  /// Where there are more parameters than figures: the last cost of each, else the last constant.
  [[nodiscard]] std::size_t last_to_give_up() const {
    for (std::size_t j = chosen_.size(); j-- > 0;) {
      if (!chosen_[j].each.empty()) {
        return j;
      }
    }
    return chosen_.size() - 1;
  }

  [[nodiscard]] core::Errors refuse() const {
    core::Errors errors;
    for (const auto& left : result_.left_out) {
      errors.push_back({.field = left.name, .message = "cannot be fitted: " + left.reason});
    }
    return errors;
  }

  void remove(std::size_t column) {
    const auto at = static_cast<std::ptrdiff_t>(column);
    chosen_.erase(chosen_.begin() + at);
    values_.erase(values_.begin() + at);
    defaults_.erase(defaults_.begin() + at);
  }

  [[nodiscard]] double bounded(std::size_t j, double value) const {
    return std::clamp(value, chosen_[j].lowest, chosen_[j].highest);
  }

  /// A Gauss-Newton step, halved until the errors shrink: simulations jump a little where a request
  /// falls into the next step. Whether one was made.
  bool improve(const Rows& jacobian) {
    const std::vector<double> weights(observations_.size(), 1.0);
    const auto step = solve_step(
        {.jacobian = jacobian, .residuals = residuals_, .weights = weights, .damping = kDamping});
    double share = 1.0;
    for (int i = 0; step && i < kHalvings; ++i, share /= 2.0) {
      std::vector<double> next = values_;
      for (std::size_t j = 0; j < next.size(); ++j) {
        next[j] = bounded(j, next[j] + share * (*step)[j] * range_of(j));
      }
      if (squares_of(residuals_at(next)) < squares_of(residuals_)) {
        values_ = next;
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
      for (std::size_t j = 0; j < values_.size(); ++j) {
        for (const double direction : {-1.0, 1.0}) {
          std::vector<double> next = values_;
          next[j] = bounded(j, next[j] + direction * share * range_of(j));
          std::vector<double> there = residuals_at(next);
          if (squares_of(there) < kWorthwhile * squares_of(residuals_)) {
            values_ = std::move(next);
            residuals_ = std::move(there);
            moved = true;
          }
        }
      }
    }
    return moved;
  }

  /// What a fit with other weights would give, from the last Jacobian: no simulation.
  [[nodiscard]] std::optional<std::vector<double>> refit(const Rows& jacobian,
                                                         const std::vector<double>& weights) const {
    return solve_step({.jacobian = jacobian, .residuals = residuals_, .weights = weights});
  }

  /// What is left of the errors of one figure, in the median; nothing where it was not measured.
  [[nodiscard]] std::optional<double> median_left(Figure figure) const {
    std::vector<double> residuals;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      if (observations_[i].figure == figure) {
        residuals.push_back(residuals_[i]);
      }
    }
    return residuals.empty() ? std::nullopt : std::optional(errors_of(residuals).median);
  }

  /// No constant explains a kernel that takes another time at every load.
  void judge_kernels() {
    const double tpot = median_left(Figure::kTpot).value_or(0.0);
    if (std::max(tpot, result_.after.median) > kKernelsDiffer) {
      result_.mismatch = fmt::format(
          "kernels do not match: wrong GPU, precision or flags: with the constants fitted the "
          "error is {:.0f} % of the time per output token and {:.0f} % of all figures (median), "
          "expected up to {:.0f} %",
          tpot,
          result_.after.median,
          kKernelsDiffer);
    }
  }

  void sum_up(const Rows& jacobian) {
    result_.after = errors_of(residuals_);
    judge_kernels();
    bootstrap(jacobian);
    if (result_.records < 2) {
      return;
    }
    cross_validate(jacobian);
    for (const Figure figure : kCompared) {
      std::vector<double> absolute;
      for (std::size_t i = 0; i < observations_.size(); ++i) {
        if (observations_[i].figure == figure) {
          absolute.push_back(100.0 * std::abs(held_out_[i]));
        }
      }
      if (!absolute.empty()) {
        result_.bands.push_back({.figure = validate::kFigureNames[static_cast<std::size_t>(figure)],
                                 .percent = quantile_of(absolute, kBandShare),
                                 .n = static_cast<std::int64_t>(absolute.size())});
      }
    }
  }

  /// Intervals, where there is more than one record to draw from.
  void bootstrap(const Rows& jacobian) {
    const bool several = result_.records > 1;
    std::vector<std::vector<double>> draws(chosen_.size());
    core::RngStream rng(options_.seed, 0, "calibration bootstrap");
    for (int sample = 0; several && sample < kBootstrapSamples; ++sample) {
      std::vector<double> weights(observations_.size(), 0.0);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[rng.below(weights.size())] += 1.0;
      }
      const auto step = refit(jacobian, weights);
      for (std::size_t j = 0; step && j < chosen_.size(); ++j) {
        draws[j].push_back(bounded(j, values_[j] + (*step)[j] * range_of(j)));
      }
    }
    for (std::size_t j = 0; j < chosen_.size(); ++j) {
      FittedParameter fitted{.parameter = chosen_[j], .before = defaults_[j], .value = values_[j]};
      if (several) {
        const bool drawn = !draws[j].empty();
        const double low = drawn ? quantile_of(draws[j], kIntervalTail) : chosen_[j].lowest;
        const double high = drawn ? quantile_of(draws[j], 1.0 - kIntervalTail) : chosen_[j].highest;
        fitted.lowest = std::min(low, fitted.value);
        fitted.highest = std::max(high, fitted.value);
      }
      fitted.at_bound = fitted.value <= chosen_[j].lowest || fitted.value >= chosen_[j].highest;
      result_.fitted.push_back(std::move(fitted));
    }
  }

  /// Errors of each record from a fit on the others.
  void cross_validate(const Rows& jacobian) {
    held_out_ = residuals_;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      std::vector<double> weights(observations_.size(), 1.0);
      for (std::size_t k = 0; k < weights.size(); ++k) {
        weights[k] = observations_[k].record == observations_[i].record ? 0.0 : 1.0;
      }
      const auto step = refit(jacobian, weights);
      for (std::size_t j = 0; step && j < chosen_.size(); ++j) {
        const double moved = bounded(j, values_[j] + (*step)[j] * range_of(j)) - values_[j];
        held_out_[i] += jacobian[i][j] * moved / range_of(j);
      }
    }
    result_.cross_validated = errors_of(held_out_);
  }

  const std::vector<Evidence>& evidence_;
  const CalibrateOptions& options_;
  std::vector<Parameter> chosen_;
  std::vector<double> values_;
  std::vector<double> defaults_;
  std::vector<Observation> observations_;
  std::vector<double> prompts_;    ///< Of each record that is compared: its mean prompt, in tokens.
  std::vector<double> in_flight_;  ///< And the requests in flight.
  std::vector<double> residuals_;
  std::vector<double> held_out_;
  Calibration result_;
};

}  // namespace

const std::vector<Parameter>& parameters() {
  // Upper bounds are far beyond any server that was seen: of the host's times, some ten times what
  // data/serving/serving.yaml has as the highest. More of them would be a slower GPU.
  static const std::vector<Parameter> kParameters = {
      {.name = "delivery_time",
       .lowest = 0.0,
       .highest = 100'000.0,
       .seen_in = "the client's time to first token"},
      {.name = "frontend_token_time",
       .lowest = 0.0,
       .highest = 50.0,
       .seen_in = "the client's time to first token of prompts of different lengths",
       .each = "prompt tokens",
       .constant = "delivery_time"},
      {.name = "close_time",
       .lowest = 0.0,
       .highest = 100'000.0,
       .seen_in = "the client's end-to-end time beside the time to first token"},
      {.name = "host_step_time",
       .lowest = 0.0,
       .highest = 5000.0,
       .seen_in = "the time per output token of a synchronous engine"},
      {.name = "host_sequence_time",
       .lowest = 0.0,
       .highest = 200.0,
       .seen_in = "the time per output token of a synchronous engine under different loads",
       .each = "sequences in flight",
       .constant = "host_step_time"}};
  return kParameters;
}

core::Result<Calibration> calibrate(const std::vector<Evidence>& evidence,
                                    const CalibrateOptions& options) {
  auto calibration = Fitter(evidence, options).run();
  if (!calibration || options.wanted.empty() || calibration->left_out.empty()) {
    return calibration;
  }
  core::Errors errors;
  for (const auto& left : calibration->left_out) {
    errors.push_back({.field = left.name, .message = "cannot be fitted: " + left.reason});
  }
  return core::fail(std::move(errors));
}

std::string serving_yaml(const Calibration& calibration) {
  const auto errors = [](const FitErrors& of) {
    return fmt::format("{:.2f} / {:.2f}", of.median, of.mean);
  };
  std::string text = fmt::format(
      "# Times of one server, {}, fitted to {} measured record{} ({} figures).\n"
      "# For another network or GPU they are no more than a guess.\n"
      "# Absolute error, median / mean in percent: {} before, {} after,\n"
      "# {} on records left out of the fit.\n",
      calibration.server,
      calibration.records,
      calibration.records == 1 ? "" : "s",
      calibration.figures,
      errors(calibration.before),
      errors(calibration.after),
      calibration.cross_validated ? errors(*calibration.cross_validated) : "unknown (one record)");
  for (const auto& band : calibration.bands) {
    text += fmt::format(
        "# Nine in ten predictions of {} lie within {:.1f} %.\n", band.figure, band.percent);
  }
  text += "serving:\n";
  for (const auto& fitted : calibration.fitted) {
    const std::string interval =
        fitted.lowest && fitted.highest
            ? fmt::format("90 % interval {:.3f} to {:.3f}", *fitted.lowest, *fitted.highest)
            : "one record: no interval";
    text += fmt::format("  {}: {:.3f}us  # {}, before {:.3f}{}\n",
                        fitted.parameter.name,
                        fitted.value,
                        interval,
                        fitted.before,
                        fitted.at_bound ? "; at its bound" : "");
  }
  return text;
}

}  // namespace ridgeline::sim::calibrate
