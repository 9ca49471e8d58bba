#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/answer.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {

/// An answer on one screen: the best deployments, why, how sure, what would change it, what was
/// searched, and the files that were written.
[[nodiscard]] std::string plan_table(const plan::Answer& answer,
                                     const report::TextStyle& style,
                                     const std::vector<std::string>& files = {});

/// Why a candidate is where it is: its numbers, and what dropped it. `id` may be cut to what no
/// other id begins with, or be a place in the ranking ("1"). Nothing for an unknown one.
[[nodiscard]] std::optional<std::string> plan_explanation(const plan::Answer& answer,
                                                          const std::string& id,
                                                          const report::TextStyle& style);

}  // namespace ridgeline::verbs
