#include "lab/scoring/leave_out.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "engine/serving.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "lab/scoring/first_use_fit.hpp"
#include "lab/scoring/traits.hpp"
#include "latency/kernel/constants.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scoring {
namespace {

using evidence::calibrate::Observations;
using evidence::calibrate::predict_with;
using evidence::calibrate::Rows;
using evidence::calibrate::solve_step;

constexpr std::array<Figure, 3> kFigures = {Figure::kE2e, Figure::kTtft, Figure::kTpot};
/// Derivatives are taken over this share of a constant.
constexpr double kStep = 0.2;
/// A relative error of this size counts half of what a small one does.
constexpr double kHalfWeight = 0.03;
/// A record with a figure beyond this is not learnt from.
constexpr double kFarOff = 0.3;
/// Doubling a constant costs as much as an error of this size in one figure.
constexpr double kPrior = 0.05;
constexpr double kLeastFactor = 0.5;
constexpr double kMostFactor = 2.0;

/// A constant that a scenario can set.
struct Refitted {
  std::string name;
  double value = 0.0;  ///< As it is, in the unit that setting it takes.
  bool is_serving = false;

  [[nodiscard]] scenario::Override times(double factor) const {
    return is_serving ? scenario::Override{.path = "serving." + name,
                                           .text = fmt::format("{:.6f}us", value * factor)}
                      : scenario::Override{.path = "latency.set",
                                           .text = fmt::format("{}={:.6f}", name, value * factor)};
  }
};

std::vector<Refitted> all_refitted() {
  const auto& serving = engine::serving_constants();
  const auto& kernels = latency::kernel::builtin_constants();
  const auto us = [](core::Seconds time) { return core::as_microseconds(time); };
  constexpr double kPerMillion = 1e6;
  return {{"delivery_time", serving.path.deliver.to_microseconds(), true},
          {"frontend_time", serving.path.frontend.to_microseconds(), true},
          {"frontend_token_time", serving.path.frontend_per_token.to_microseconds(), true},
          {"emit_time", serving.path.emit.to_microseconds(), true},
          {"close_time", serving.path.close.to_microseconds(), true},
          {"host_step_time", serving.host.per_step.to_microseconds(), true},
          {"host_sequence_time", serving.host.per_sequence.to_microseconds(), true},
          {"layer_launch_gap_us", us(kernels.step.layer_launch_gap), false},
          {"piecewise_layer_gap_us", us(kernels.step.piecewise_layer_gap), false},
          {"host_launch_us", us(kernels.step.host_launch), false},
          {"norm_us", us(kernels.step.norm), false},
          {"uncaptured_expert_gap_us", us(kernels.step.uncaptured_expert_gap), false},
          {"step_gap_us", us(kernels.step.step_gap), false},
          {"truncation_us", us(kernels.sampling.truncation), false},
          {"truncation_us_per_million_logits",
           us(kernels.sampling.truncation_per_logit) * kPerMillion,
           false},
          {"penalty_us_per_million_logits",
           us(kernels.sampling.penalty_per_logit) * kPerMillion,
           false},
          {"streamed_expert_fraction", kernels.step.streamed_expert_fraction, false},
          {"random_tokens_popularity_shape", kernels.step.random_tokens_popularity_shape, false}};
}

/// The catalogue's name where it has one: one network and one GPU have many names.
std::string value_on(LeaveOut axis, const Evidence& evidence) {
  if (axis == LeaveOut::kNetwork) {
    return network_of(evidence);
  }
  if (axis == LeaveOut::kFormat) {
    return format_of(evidence);
  }
  const auto gpu = hardware::find_gpu(evidence.gpu);
  return gpu ? gpu->name : evidence.gpu;
}

class Refitter {
 public:
  Refitter(const std::vector<Evidence>& evidence, LeaveOut axis, const PredictOptions& options)
      : evidence_(evidence),
        axis_(axis),
        options_(options),
        observations_(evidence, options),
        constants_(all_refitted()) {
    // A constant that the user sets is not refitted.
    std::erase_if(constants_, [&](const Refitted& constant) {
      const scenario::Override ours = constant.times(1.0);
      const std::string key = ours.text.substr(0, ours.text.find('=') + 1);
      return std::ranges::any_of(options.overrides, [&](const scenario::Override& theirs) {
        return theirs.path == ours.path && (constant.is_serving || theirs.text.starts_with(key));
      });
    });
  }

  core::Result<std::vector<LeftOutRow>> run() {
    if (auto reason = observations_.find({}); !reason.empty()) {
      return core::fail(core::Error{.message = fmt::format("nothing to leave out: {}", reason)});
    }
    residuals_ = observations_.residuals({});
    derive();
    std::vector<std::string> values;
    for (const auto& compared : observations_.all()) {
      std::string value = value_on(axis_, evidence_[compared.record]);
      if (std::ranges::find(values, value) == values.end()) {
        values.push_back(std::move(value));
      }
    }
    std::vector<LeftOutRow> rows;
    rows.reserve(values.size());
    for (const auto& value : values) {
      rows.push_back(without(value));
    }
    return rows;
  }

 private:
  /// What multiplying each constant does to each compared mean; a column is zero where it does
  /// nothing or the constant is.
  void derive() {
    jacobian_.assign(observations_.size(), std::vector<double>(constants_.size(), 0.0));
    for (std::size_t j = 0; j < constants_.size(); ++j) {
      // A share of everything cannot grow beyond it.
      const double step = constants_[j].value * (1.0 + kStep) > 1.0 &&
                                  constants_[j].name == "streamed_expert_fraction"
                              ? -kStep
                              : kStep;
      const auto moved = observations_.residuals({constants_[j].times(1.0 + step)});
      for (std::size_t i = 0; i < moved.size(); ++i) {
        jacobian_[i][j] = (moved[i] - residuals_[i]) / step;
      }
    }
  }

  /// Such a record was not made as it says: it teaches nothing about constants.
  [[nodiscard]] bool is_far_off(std::size_t record) const {
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      if (observations_.all()[i].record == record && std::abs(residuals_[i]) > kFarOff) {
        return true;
      }
    }
    return false;
  }

  /// Factors for the constants, from the records that are not of that value.
  [[nodiscard]] std::vector<double> factors_without(const std::string& value) const {
    Rows jacobian;
    std::vector<double> residuals;
    std::vector<double> weights;
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      const std::size_t record = observations_.all()[i].record;
      if (value_on(axis_, evidence_[record]) == value || is_far_off(record)) {
        continue;
      }
      jacobian.push_back(jacobian_[i]);
      residuals.push_back(residuals_[i]);
      const double far = residuals_[i] / kHalfWeight;
      weights.push_back(1.0 / (1.0 + far * far));
    }
    for (std::size_t j = 0; j < constants_.size(); ++j) {
      std::vector<double> prior(constants_.size(), 0.0);
      prior[j] = kPrior;
      jacobian.push_back(std::move(prior));
      residuals.push_back(0.0);
      weights.push_back(1.0);
    }
    const auto step =
        solve_step({.jacobian = jacobian, .residuals = residuals, .weights = weights});
    std::vector<double> factors(constants_.size(), 1.0);
    for (std::size_t j = 0; step && j < factors.size(); ++j) {
      factors[j] = std::clamp(1.0 + (*step)[j], kLeastFactor, kMostFactor);
    }
    return factors;
  }

  [[nodiscard]] LeftOutRow without(const std::string& value) const {
    LeftOutRow row;
    row.value = value;
    const auto factors = factors_without(value);
    std::vector<scenario::Override> changes;
    for (std::size_t j = 0; j < factors.size(); ++j) {
      changes.push_back(constants_[j].times(factors[j]));
      const double change = 100.0 * (factors[j] - 1.0);
      if (std::abs(change) > std::abs(row.largest_change_pct)) {
        row.largest_change_pct = change;
        row.changed_most = constants_[j].name;
      }
    }
    std::vector<Evidence> own;
    std::vector<std::size_t> place(evidence_.size(), 0);
    for (std::size_t i = 0; i < evidence_.size(); ++i) {
      if (value_on(axis_, evidence_[i]) == value) {
        place[i] = own.size();
        own.push_back(evidence_[i]);
      }
    }
    const auto unseen = predict_with(own, options_, changes);
    std::vector<bool> counted(own.size(), false);
    for (std::size_t f = 0; f < kFigures.size(); ++f) {
      const Figure figure = kFigures[f];
      std::vector<double> before;
      std::vector<double> after;
      for (std::size_t i = 0; i < observations_.size(); ++i) {
        const auto& compared = observations_.all()[i];
        if (compared.figure != figure || value_on(axis_, evidence_[compared.record]) != value) {
          continue;
        }
        counted[place[compared.record]] = true;
        before.push_back(100.0 * residuals_[i]);
        if (const auto& prediction = unseen[place[compared.record]].prediction) {
          if (const auto error = error_pct(
                  prediction->figures, evidence_[compared.record].measured, figure, Level::kMean)) {
            after.push_back(*error);
          }
        }
      }
      if (!before.empty() && !after.empty()) {
        row.seen[f] = named(figure, std::move(before));
        row.unseen[f] = named(figure, std::move(after));
      }
    }
    row.records = std::ranges::count(counted, true);
    return row;
  }

  static ScoreRow named(Figure figure, std::vector<double> errors) {
    ScoreRow row = summarise_errors(std::move(errors));
    row.figure = figure;
    return row;
  }

  const std::vector<Evidence>& evidence_;
  LeaveOut axis_;
  const PredictOptions& options_;
  Observations observations_;
  std::vector<Refitted> constants_;
  std::vector<double> residuals_;
  Rows jacobian_;
};

}  // namespace

core::Result<std::vector<LeftOutRow>> leave_out(const std::vector<Evidence>& evidence,
                                                LeaveOut axis,
                                                const PredictOptions& options) {
  if (axis == LeaveOut::kFirstUse) {
    return leave_out_first_uses(evidence, options);
  }
  return Refitter(evidence, axis, options).run();
}

std::vector<std::string> refitted_constants() {
  std::vector<std::string> names;
  for (const auto& constant : all_refitted()) {
    names.push_back(constant.name);
  }
  return names;
}

}  // namespace ridgeline::scoring
