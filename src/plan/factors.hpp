#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/bands.hpp"
#include "plan/demand.hpp"
#include "plan/doubt.hpp"
#include "plan/target.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::plan {

/// A deployment whose doubt is asked for. References outlive it.
struct FluidCandidate {
  const scenario::Deployment& deployment;
  const Demand& demand;  ///< Of the whole system: only lengths are read.
  const Targets& targets;
  std::string label = {};  ///< "h200 TP2": names what is measured on it.
};

/// The measured error of predictions like a candidate's.
struct BandSpread {
  std::optional<accuracy::ExpectedError> error = {};  ///< Nothing where no band has the metric.
  double sd = 0.0;                                    ///< Of the logarithm of the metric, widened.
};

/// What is unsure of one candidate.
struct CandidateDoubt {
  std::vector<double> elasticity;  ///< Of its capacity to each factor of the table, as computed.
  /// The same for Row::elasticity: times this candidate's share of the factors' common scale.
  std::vector<double> loading;
  /// By how many percent capacity falls where every operator takes one percent longer.
  double amplification = 0.0;
  BandSpread tpot = {};
  BandSpread ttft = {};
  double scale = 1.0;  ///< What its operators' and constants' spreads are multiplied by.
};

/// Causes of error of all candidates. Those of one GPU, one network or one host are one factor
/// wherever they occur, so that common errors cancel.
struct FactorTable {
  std::vector<Factor> factors;
  std::vector<CandidateDoubt> candidates;
  /// Of each candidate: the TTFT of a lone prompt, the time of a token at the batch planned, the
  /// capacity of a replica.
  std::vector<Measurement> measurements;
};

/// One factor per operator class and GPU (data/accuracy/operators.yaml), one per constant of
/// data/serving within its interval, one for the KV blocks of a network on a GPU. One scale per
/// candidate makes the spread of its predicted TPOT that of the nearest slice of `bands`; what the
/// slice of TTFT has beyond that is a factor of its own. Elasticities are central differences of
/// the fluid estimate. Factors without effect on any candidate are left out.
[[nodiscard]] FactorTable factors_of(const std::vector<FluidCandidate>& candidates,
                                     const std::vector<accuracy::Band>& bands);

}  // namespace ridgeline::plan
