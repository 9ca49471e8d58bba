#pragma once

#include <string>

#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// 32 hexadecimal digits, XXH3 over 128 bits of the scenario as to_node() writes it: two ways of
/// stating the same scenario have the same digest once it is resolved (Resolved::scenario()).
[[nodiscard]] std::string scenario_digest(const Scenario& scenario);

}  // namespace ridgeline::scenario
