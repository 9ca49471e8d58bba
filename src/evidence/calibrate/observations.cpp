#include "evidence/calibrate/observations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "scenario/scenario.hpp"
#include "statistics/quantiles.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using validate::Evidence;
using validate::Figure;
using validate::Level;

constexpr std::array<Figure, 3> kCompared = {Figure::kE2e, Figure::kTtft, Figure::kTpot};

double mean_prompt(const Evidence& evidence) {
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

/// "runs.jsonl:3: codegen"; the name of a record that is a whole file holds the file's.
std::string name_of(const Evidence& evidence) {
  return evidence.line > 0 ? fmt::format("{}:{}: {}", evidence.file, evidence.line, evidence.id)
                           : evidence.id;
}

}  // namespace

std::vector<validate::PartPrediction> predict_with(
    const std::vector<Evidence>& evidence,
    const validate::PredictOptions& options,
    const std::vector<scenario::Override>& settings) {
  std::vector<Evidence> copy = evidence;
  const auto runs = validate::group_runs(copy);
  validate::PredictOptions changed = options;
  changed.overrides.insert(changed.overrides.end(), settings.begin(), settings.end());
  return validate::predict(copy, runs, changed);
}

std::string Observations::find(const std::vector<scenario::Override>& settings) {
  const auto predictions = predict_with(evidence_, options_, settings);
  for (std::size_t i = 0; i < evidence_.size(); ++i) {
    std::string why;
    const auto standing = validate::standing_of(evidence_[i], predictions[i], why);
    if (standing != validate::Standing::kScored) {
      const auto& name = validate::kStandingNames[static_cast<std::size_t>(standing)];
      unused_.push_back({.name = name_of(evidence_[i]), .standing = name, .reason = why});
      continue;
    }
    if (evidence_[i].fleet) {
      unused_.push_back({.name = name_of(evidence_[i]),
                         .standing = "not compared",
                         .reason = "is of a fleet, whose times are not those of one instance"});
      continue;
    }
    const std::size_t before = all_.size();
    records_.push_back(i);
    prompts_.push_back(mean_prompt(evidence_[i]));
    in_flight_.push_back(predictions[i].prediction->mean_in_flight);
    for (const Figure figure : kCompared) {
      const auto& measured = evidence_[i].measured.at(figure, Level::kMean);
      if (measured && predictions[i].prediction->figures.at(figure, Level::kMean)) {
        all_.push_back({.record = i, .figure = figure, .measured = *measured});
      }
    }
    if (all_.size() == before) {
      unused_.push_back({.name = name_of(evidence_[i]),
                         .standing = "not compared",
                         .reason = "has no mean of e2e, ttft or tpot"});
    }
  }
  if (!all_.empty()) {
    return {};
  }
  return unused_.empty() ? "no record"
                         : fmt::format("none of {} records can be used: {} is {}: {}",
                                       evidence_.size(),
                                       unused_.front().name,
                                       unused_.front().standing,
                                       unused_.front().reason);
}

std::vector<double> Observations::residuals(const std::vector<scenario::Override>& settings) const {
  const auto predictions = predict_with(evidence_, options_, settings);
  std::vector<double> residuals;
  residuals.reserve(all_.size());
  for (const auto& observation : all_) {
    // Of an interrupted fit, whose end does not matter, some have none.
    const auto& prediction = predictions[observation.record].prediction;
    const double predicted = prediction ? prediction->figures.at(observation.figure, Level::kMean)
                                              .value_or(observation.measured)
                                        : observation.measured;
    residuals.push_back(predicted / observation.measured - 1.0);
  }
  return residuals;
}

FitErrors errors_of(const std::vector<double>& residuals) {
  std::vector<double> absolute;
  FitErrors errors;
  for (const double residual : residuals) {
    absolute.push_back(100.0 * std::abs(residual));
    errors.mean += absolute.back() / static_cast<double>(residuals.size());
  }
  std::ranges::sort(absolute);
  errors.median = statistics::sorted_quantile(absolute, 0.5);
  return errors;
}

}  // namespace ridgeline::evidence::calibrate
