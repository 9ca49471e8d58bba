#pragma once

#include <cstddef>
#include <string>

#include "plan/answer.hpp"

namespace ridgeline::verbs {

/// What to measure before a plan is carried out, the most telling first, at most `most` of them: in
/// words, with the command that takes it, how long that takes, and how likely it changes the pick.
/// With `kernels_only`, measurements of operators alone. "Nothing worth measuring" where no
/// measurement changes the pick with plan::kWorthMeasuring or more.
[[nodiscard]] std::string plan_measurements(const plan::Answer& answer,
                                            std::size_t most,
                                            bool kernels_only);

/// The measurements as a bash script: a comment and a command each.
[[nodiscard]] std::string measurement_script(const plan::Answer& answer,
                                             std::size_t most,
                                             bool kernels_only);

}  // namespace ridgeline::verbs
