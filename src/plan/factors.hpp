#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/demand.hpp"
#include "plan/doubt.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::plan {

/// A deployment whose doubt is asked for. References outlive it.
struct FluidCandidate {
  const scenario::Deployment& deployment;
  const Demand& demand;  ///< Demand on the whole system: only lengths are read.
  const Targets& targets;
  std::string label = {};  ///< "h200 TP2": names what is measured on it.
};

/// What is unsure of one candidate of a table.
struct CandidateDoubt {
  std::vector<double> elasticity;  ///< Capacity's, to each factor of the table, as computed.
  /// Row::elasticity: `elasticity` times this candidate's share of the factors' common scale, so
  /// that all factors make the spread that its capacity was found to have.
  std::vector<double> loading;
  /// By how many percent capacity falls where every operator takes one percent longer.
  double amplification = 0.0;
  double scale = 1.0;   ///< What its operators' and constants' spreads are multiplied by.
  double own_sd = 0.0;  ///< Spread of log capacity that no cause makes.
};

/// Causes of error of all candidates. Those of one GPU, one network or one host are one factor
/// wherever they occur, so that common errors cancel.
struct FactorTable {
  std::vector<Factor> factors;
  std::vector<CandidateDoubt> candidates;
  /// For each candidate: the TTFT of a lone prompt, the time of a token at the batch planned, the
  /// capacity of a replica.
  std::vector<Measurement> measurements;
};

/// A cause of error as one candidate has it, before the candidates' are joined.
struct Cause {
  Factor factor;
  double elasticity = 0.0;
  double of_tpot = 0.0;  ///< d log TPOT / d theta at the batch planned; and so on.
  double of_ttft = 0.0;
  bool is_scaled = true;  ///< Shows in TPOT or TTFT, so that bands speak of it.
  double scale = 1.0;     ///< What the candidate's bands multiply its spread by.
};

/// What was found out of one candidate. It refers to nothing: deployments need not be kept.
struct CandidateCauses {
  std::vector<Cause> causes;
  CandidateDoubt doubt = {};  ///< Without what the table says: elasticity and loading.
  std::int64_t decodes = 1;   ///< In a step at its capacity.
  double capacity = 0.0;      ///< By the fluid estimate.
  double known_sd = 0.0;      ///< Spread of log capacity, all causes together (SureLoad::sd).
  double by_ttft = 0.0;       ///< d log capacity / d log of the target of TTFT; 0 without one.
  /// The TTFT of a lone prompt, the time of a token at the batch planned, the capacity of a
  /// replica; without their loadings.
  std::vector<Measurement> measurements = {};
};

/// One cause per operator class (data/accuracy/operators.yaml), one per constant of data/serving
/// within its interval, one for the KV blocks. One scale makes the spread of the predicted TPOT
/// that of its band; what the band of TTFT has beyond that is a cause of its own. Elasticities are
/// central differences of the fluid estimate.
[[nodiscard]] CandidateCauses causes_of(const FluidCandidate& candidate, const LatencyDoubt& bands);

/// Joins the causes of all candidates: one factor per operator class and GPU, per constant of the
/// server, per network's KV blocks on a GPU. Factors without effect on any candidate are left out.
[[nodiscard]] FactorTable factors_of(const std::vector<CandidateCauses>& candidates);

}  // namespace ridgeline::plan
