#include "evidence/calibrate/observations.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/statistics/quantiles.hpp"
#include "core/units.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/deployment.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "latency/accuracy/bands.hpp"
#include "latency/kernel/constants.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "scenario/deployment.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using validate::Evidence;
using validate::Figure;
using validate::Level;

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

/// Standard deviations between a normal law's middle and either end of what holds nine in ten.
constexpr double kNineInTen = 1.645;
/// Spread of kernels without a band, from a datasheet alone: they may take twice as long.
constexpr double kUnknownSpread = 0.7;

/// Spread of the logarithm of a deployment's time per output token, by the wider side of its band.
double spread_of(const accuracy::Question& question) {
  const auto error = accuracy::expected_error(accuracy::bands(), question, accuracy::Metric::kTpot);
  if (!error) {
    return kUnknownSpread;
  }
  const accuracy::Range& range = error->band.p90;
  return std::max(std::abs(core::log(1.0 + range.low / 100.0)),
                  std::abs(core::log(1.0 + range.high / 100.0))) /
         kNineInTen;
}

/// The what-if as settings of a deployment's scenario.
std::vector<scenario::Override> settings_of(const scenario::Deployment& deployment,
                                            const KernelTimes& times) {
  constexpr double kTera = 1e12;
  std::vector<scenario::Override> settings;
  const auto time_of = [&](Kernels which) { return times[static_cast<std::size_t>(which)]; };
  const auto rate = [&](Kernels which, const char* key, double value, const char* unit) {
    if (value > 0.0 && time_of(which) != 1.0) {
      settings.push_back(
          {.path = "set",
           .text = fmt::format("hardware.{}={:.9f}{}", key, value / time_of(which) / kTera, unit)});
    }
  };
  const auto gap = [&](const char* name, core::Seconds value) {
    if (deployment.section.latency.name == "kernel" && time_of(Kernels::kGaps) != 1.0) {
      const double us = core::as_microseconds(value) * time_of(Kernels::kGaps);
      settings.push_back({.path = "latency.set", .text = fmt::format("{}={:.9f}", name, us)});
    }
  };
  const hardware::GpuSpec& gpu = deployment.gpu;
  rate(Kernels::kMemory, "mem_bandwidth", gpu.mem_bandwidth.value(), "TB/s");
  rate(Kernels::kCompute, "peak_bf16", gpu.peak_bf16.value(), "TFLOP/s");
  rate(Kernels::kCompute, "peak_fp8", gpu.peak_fp8.value(), "TFLOP/s");
  rate(Kernels::kCompute, "peak_int8", gpu.peak_int8.value(), "TFLOP/s");
  rate(Kernels::kCompute, "peak_fp4", gpu.peak_fp4.value(), "TFLOP/s");
  rate(Kernels::kLink, "link_bandwidth", gpu.link_bandwidth.value(), "TB/s");
  const auto& step = latency::kernel::builtin_constants().step;
  gap("layer_launch_gap_us", step.layer_launch_gap);
  gap("piecewise_layer_gap_us", step.piecewise_layer_gap);
  return settings;
}

/// Whether both set the same value of a GPU or of the step-time model.
bool sets_the_same(const scenario::Override& a, const scenario::Override& b) {
  return a.path == b.path &&
         a.text.substr(0, a.text.find('=')) == b.text.substr(0, b.text.find('='));
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
    const accuracy::Question& likeness = predictions[i].prediction->likeness;
    kernel_spread_ = std::max(kernel_spread_, spread_of(likeness));
    for (std::size_t axis = 0; axis < accuracy::kNumAxes; ++axis) {
      if (records_.size() == 1) {
        server_[axis] = likeness[axis];
      } else if (server_[axis] != likeness[axis]) {
        server_[axis].clear();
      }
    }
    for (const Figure figure : figures_) {
      const auto& measured = evidence_[i].measured.at(figure, Level::kMean);
      if (measured && predictions[i].prediction->figures.at(figure, Level::kMean)) {
        all_.push_back({.record = i, .figure = figure, .measured = *measured});
      }
    }
    if (all_.size() == before) {
      unused_.push_back({.name = name_of(evidence_[i]),
                         .standing = "not compared",
                         .reason = "has no mean of any figure that is"});
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

std::vector<double> Observations::residuals(const std::vector<scenario::Override>& settings,
                                            const KernelTimes& times) const {
  std::vector<Evidence> evidence = evidence_;
  validate::PredictOptions options = options_;
  for (std::size_t i = 0; times != kAsModelled && i < evidence.size(); ++i) {
    const auto resolved = validate::deploy(evidence[i], options_.overrides);
    if (!resolved) {
      continue;
    }
    for (const auto& setting : settings_of(*resolved->deployment, times)) {
      evidence[i].stated.emplace_back(setting.path, setting.text);
      std::erase_if(options.overrides,
                    [&](const scenario::Override& other) { return sets_the_same(setting, other); });
    }
  }
  const auto predictions = predict_with(evidence, options, settings);
  std::vector<double> residuals;
  residuals.reserve(all_.size());
  for (const auto& observation : all_) {
    // In an interrupted fit, whose result is not used, some have none.
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
