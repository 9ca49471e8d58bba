#pragma once

#include <string>

#include "plan/answer.hpp"

namespace ridgeline::verbs {

/// What deployments cost (x) against what they serve (y): the capacity of all their replicas within
/// the targets, or, where cost per token is asked for, tokens per second of one user. A mark says
/// by its form how far a deployment came, and by its <title> which it is; the front of the cheapest
/// is a step line, whiskers hold 80 % of what is expected, and the pick is ringed.
[[nodiscard]] std::string plan_svg(const plan::Answer& answer);

}  // namespace ridgeline::verbs
