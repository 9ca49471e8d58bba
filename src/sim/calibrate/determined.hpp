#pragma once

#include <vector>

#include "core/result.hpp"
#include "sim/calibrate/calibrate.hpp"
#include "sim/calibrate/least_squares.hpp"
#include "sim/calibrate/observations.hpp"
#include "sim/calibrate/parameters.hpp"

/// Which constants measurements determine: the others are taken out of `constants` and go to
/// `left_out` with the reason.
namespace ridgeline::sim::calibrate {

/// Takes out costs of each token or sequence where their number does not vary: the constant beside
/// it stands for both.
void drop_undistinguished(Constants& constants,
                          const Observations& observations,
                          std::vector<LeftOut>& left_out);

/// Takes out what the measurements do not determine, the least first; of several that do the same,
/// the costs of each before the constants. `jacobian` has a column per constant, scaled to what its
/// whole range does; columns go with their constants.
void drop_undetermined(Constants& constants, Rows& jacobian, std::vector<LeftOut>& left_out);

/// The constants left out as errors.
[[nodiscard]] core::Errors cannot_be_fitted(const std::vector<LeftOut>& left_out);

}  // namespace ridgeline::sim::calibrate
