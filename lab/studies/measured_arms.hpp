#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "lab/studies/study.hpp"
#include "scenario/scenario.hpp"

/// Arms of a study held against measured servers, by the means of `validate`.
namespace ridgeline::studies {

/// The arm as a scenario's settings.
[[nodiscard]] std::vector<scenario::Override> overrides_of(const Arm& arm,
                                                           const std::string& bench_data);

/// One measured run, stage or sweep point, and what each arm predicts of it.
struct ScoredRun {
  std::string group;   ///< Its family and how its load was made: "silicon, closed".
  std::string server;  ///< Runs of one server share errors: they are drawn together.
  std::string network;
  std::string workload;
  std::int64_t tensor_parallel = 1;
  std::int64_t clients = 0;  ///< Clients of a closed loop; 0: an open one.
  double in_flight = 0.0;    ///< Requests on average, as the first arm has it.
  evidence::validate::Figures measured;
  std::vector<evidence::validate::Figures> predicted;  ///< By arm.

  /// Signed, of the mean, in percent; nothing where the figure was not measured.
  [[nodiscard]] std::optional<double> error_pct(std::size_t arm,
                                                evidence::validate::Figure figure) const;
};

/// What arms predict of measured runs, kept while several studies run: a run is simulated once
/// under equal arms.
class ArmPredictions {
 public:
  /// Predicts the records at these places of `evidence`, which was read from `options.measured`, in
  /// that order. With a stage of a server, all others that are to count are asked for: a stage
  /// alone starts cold.
  [[nodiscard]] std::vector<evidence::validate::PartPrediction> predict(
      const std::vector<evidence::validate::Evidence>& evidence,
      const std::vector<std::size_t>& places,
      const Arm& arm,
      const StudyOptions& options);

 private:
  /// By file and what is overridden, then by record.
  std::map<std::string, std::map<std::size_t, evidence::validate::PartPrediction>> known_;
};

/// Simulates every run of `options.measured` once under each arm (one history, so that arms see the
/// same arrivals). The first arm decides which runs count: those that it can price and that are
/// below saturation. A run without E2E has what its TTFT and TPOT make of it. Fails where the file
/// cannot be read, or where no run counts.
[[nodiscard]] core::Result<std::vector<ScoredRun>> score_arms(const std::vector<Arm>& arms,
                                                              const StudyOptions& options);

}  // namespace ridgeline::studies
