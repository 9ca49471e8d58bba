#pragma once

#include <vector>

#include "core/result.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/least_squares.hpp"
#include "evidence/calibrate/observations.hpp"
#include "evidence/calibrate/parameters.hpp"

/// Which constants measurements determine: the others are taken out of `constants` and go to
/// `left_out` with the reason.
namespace ridgeline::evidence::calibrate {

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

}  // namespace ridgeline::evidence::calibrate
