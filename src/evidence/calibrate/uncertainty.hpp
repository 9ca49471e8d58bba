#pragma once

#include <cstdint>
#include <vector>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"

/// How well a fit is known, from its last Jacobian and residuals: no further simulation.
namespace ridgeline::evidence::calibrate {

struct FitEnd {
  const Observations& observations;
  const Constants& constants;
  const Rows& jacobian;
  const std::vector<double>& residuals;
};

/// The fitted constants with 90 % intervals, by bootstrap over the measurements; of one record
/// there are none.
[[nodiscard]] std::vector<FittedParameter> with_intervals(const FitEnd& end, std::uint64_t seed);

/// The residuals of each record with the constants of a fit to the others. Requires two records.
[[nodiscard]] std::vector<double> held_out_residuals(const FitEnd& end);

/// Within which nine in ten of these residuals are, by figure.
[[nodiscard]] std::vector<Band> bands_of(const Observations& observations,
                                         const std::vector<double>& residuals);

}  // namespace ridgeline::evidence::calibrate
