#pragma once

#include <vector>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "latency/accuracy/bands.hpp"

/// How well a fit is known.
namespace ridgeline::evidence::calibrate {

struct FitEnd {
  const Observations& observations;
  const Constants& constants;
  const Rows& jacobian;
  const std::vector<double>& residuals;
};

/// The fitted constants with their 90 % intervals (joint_fit.hpp); of one record, and
/// of a fit that is only tried, there are none.
[[nodiscard]] std::vector<FittedParameter> with_intervals(const FitEnd& end, bool is_final = true);

/// Figures with their residuals at the end of a fit, and what its constants do to them.
struct Compared {
  const Observations& observations;
  const Rows& jacobian;
  const std::vector<double>& residuals;
};
/// The residuals of each record with the constants of a fit to the others: of the figures that were
/// fitted, or of others of the same records. Requires two records.
[[nodiscard]] std::vector<double> held_out_residuals(const FitEnd& end, const Compared& compared);

/// What holds half and nine in ten of further such residuals, by figure: a normal law's, with
/// Student's allowance for few records. Figures that have no band in accuracy::Metric are left out.
[[nodiscard]] std::vector<accuracy::Band> bands_of(const Observations& observations,
                                                   const std::vector<double>& residuals);

}  // namespace ridgeline::evidence::calibrate
