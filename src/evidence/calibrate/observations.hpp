#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "latency/accuracy/bands.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::calibrate {

/// One compared number.
struct Observation {
  std::size_t record = 0;
  validate::Figure figure = validate::Figure::kE2e;
  double measured = 0.0;
};

/// Kernels whose times err together, from one cause: a GPU's memory, its tensor cores or its link
/// deliver another share of what the model takes, or the gaps between kernels are others.
enum class Kernels : std::uint8_t { kMemory, kCompute, kLink, kGaps };
inline constexpr std::size_t kNumKernels = 4;
/// A what-if: how many times as long each takes as the model says.
using KernelTimes = std::array<double, kNumKernels>;
inline constexpr KernelTimes kAsModelled = {1.0, 1.0, 1.0, 1.0};

/// The measured figures that a fit compares with predictions, and what is known of their records.
class Observations {
 public:
  /// `evidence` must outlive this.
  Observations(const std::vector<validate::Evidence>& evidence,
               validate::PredictOptions options,
               std::vector<validate::Figure> figures = {validate::Figure::kE2e,
                                                        validate::Figure::kTtft,
                                                        validate::Figure::kTpot})
      : evidence_(evidence), options_(std::move(options)), figures_(std::move(figures)) {}

  /// Finds what can be compared, with these settings of a scenario: means of records below
  /// saturation. Why there is nothing; empty where there is. The other records are in unused().
  [[nodiscard]] std::string find(const std::vector<scenario::Override>& settings);

  /// The relative error of each figure, as predicted with these settings.
  [[nodiscard]] std::vector<double> residuals(const std::vector<scenario::Override>& settings,
                                              const KernelTimes& times = kAsModelled) const;

  [[nodiscard]] const std::vector<Observation>& all() const { return all_; }
  [[nodiscard]] std::size_t size() const { return all_.size(); }
  /// The records with at least one of them, by their place in the evidence.
  [[nodiscard]] const std::vector<std::size_t>& records() const { return records_; }
  [[nodiscard]] const std::vector<UnusedRecord>& unused() const { return unused_; }
  /// Mean prompt of each record, in tokens; and its requests in flight.
  [[nodiscard]] const std::vector<double>& prompts() const { return prompts_; }
  [[nodiscard]] const std::vector<double>& in_flight() const { return in_flight_; }
  /// What they all are of, in the words of the error bands; nothing where they differ.
  [[nodiscard]] const accuracy::Question& server() const { return server_; }
  /// How far the model's kernels may be off: the standard deviation of the logarithm of their time,
  /// from the bands that predicted times per output token of such deployments have.
  [[nodiscard]] double kernel_spread() const { return kernel_spread_; }

 private:
  const std::vector<validate::Evidence>& evidence_;
  validate::PredictOptions options_;
  std::vector<validate::Figure> figures_;
  std::vector<Observation> all_;
  std::vector<std::size_t> records_;
  std::vector<UnusedRecord> unused_;
  std::vector<double> prompts_;
  std::vector<double> in_flight_;
  accuracy::Question server_;
  double kernel_spread_ = 0.0;
};

/// Predictions of all records with these settings beside those of `options`.
[[nodiscard]] std::vector<validate::PartPrediction> predict_with(
    const std::vector<validate::Evidence>& evidence,
    const validate::PredictOptions& options,
    const std::vector<scenario::Override>& settings);

/// Absolute values of relative errors, in percent.
[[nodiscard]] FitErrors errors_of(const std::vector<double>& residuals);

}  // namespace ridgeline::evidence::calibrate
