#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "latency/accuracy/bands.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::validate {

/// What our model says of a record.
struct Prediction {
  Figures figures;  ///< Means over the histories; on the clock that the record was measured with.
  Figures lowest;   ///< Over the histories.
  Figures highest;
  /// Requests between arrival and end, on average; of one data-parallel rank, as what follows.
  double mean_in_flight = 0.0;
  double ranks = 1.0;          ///< That share the load, of which one is simulated.
  double mean_context = 0.0;   ///< Prompt and half of the answer, in tokens.
  double cached_share = 0.0;   ///< Share of the prompt tokens found in the prefix cache.
  std::int64_t completed = 0;  ///< In one history.
  std::int64_t incomplete = 0;
  std::int64_t preemptions = 0;  ///< In the whole run of the first history.
  accuracy::Question likeness;   ///< What it is of, in the words of the error bands.
  bool kv_limited = false;       ///< The clients of a closed loop need more KV cache than there is.
  bool front_end_bound = false;  ///< The API server sets the rate of tokens, in the first history.
  bool front_end_near = false;   ///< It would on a usual host, likewise.
  bool bound = false;            ///< Its times are bounds and no estimates.
  bool overloaded = false;       ///< The queue grows throughout, in the first history.
};

/// The prediction of one record of a run, or why there is none.
struct PartPrediction {
  std::optional<Prediction> prediction;
  std::string problem;
  core::Warnings notes = {};  ///< What the model says of the kernel tables that it reads.
};

struct PredictOptions {
  std::int64_t histories = 3;  ///< Seeds over which arrivals and lengths are drawn.
  std::uint64_t seed = 0;
  std::int64_t threads = 1;
  std::vector<scenario::Override> overrides;  ///< What-ifs that win over every record.
  /// Set: no further run begins, and records without all their histories have no prediction.
  const std::atomic<bool>* interrupt = nullptr;

  [[nodiscard]] bool is_interrupted() const { return interrupt != nullptr && *interrupt; }
};

/// "engine.max_num_seqs: ...": the first of several errors.
[[nodiscard]] std::string first_line(const core::Errors& errors);

/// Simulates every run over several histories and reads each record's stages off. The results
/// stand in the order of `evidence`, whatever the number of threads. What was taken for granted is
/// added to the records.
[[nodiscard]] std::vector<PartPrediction> predict(std::vector<Evidence>& evidence,
                                                  const std::vector<MeasuredRun>& runs,
                                                  const PredictOptions& options);

}  // namespace ridgeline::evidence::validate
