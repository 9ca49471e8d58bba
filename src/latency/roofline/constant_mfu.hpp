#pragma once

#include "domain/step.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/network.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/roofline/switches.hpp"

namespace ridgeline::latency::roofline {

/// V0 and V1: one MFU per phase. The equations stand in docs/models/rooflines.md.
class ConstantMfuRoofline {
 public:
  /// `version` is kV0 or kV1.
  ConstantMfuRoofline(Version version,
                      const Network& network,
                      const Constants& constants,
                      double tensor_parallel_size,
                      double ridge_point);

  [[nodiscard]] StepCost cost(const domain::StepBatch& batch) const;

 private:
  /// Requests that are alike in whether they have one new token, summed.
  struct Sums {
    double context = 0.0;  ///< KV tokens before the step.
    double new_tokens = 0.0;
    double pairs = 0.0;  ///< Query times mean context, as the FLOPs count it.
  };
  struct PhaseConstants {
    double mfu = 0.0;
    double bandwidth = 0.0;
    double compute_ranks = 0.0;  ///< What compute is divided by.
    double memory_ranks = 0.0;
  };

  [[nodiscard]] PhaseCost phase(const Sums& one, const Sums& many, const PhaseConstants& by) const;

  Version version_;
  Network network_;
  double peak_;
  double vector_peak_;
  double tensor_parallel_size_;
  double ridge_point_;
  PhaseConstants prefill_;
  PhaseConstants decode_;
  Constants constants_;
};

}  // namespace ridgeline::latency::roofline
