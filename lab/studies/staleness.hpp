#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {

/// What the study of old knowledge goes through.
struct StalenessPlan {
  std::vector<std::int64_t> sizes = {8, 64};  ///< Instances of a fleet.
  /// Ascending: how long the end of a request takes to be known, and from one reading of an
  /// instance's gauges to the next.
  std::vector<double> delays_s = {0.05, 0.2, 0.5, 1.0, 2.0, 5.0};
  std::vector<std::string> policies = {};  ///< Empty: all; else with "random" among them.
  std::int64_t requests_per_instance = 300;
};

/// Simulates every fleet, policy and delay of a plan on the same requests, and finds from which
/// delay on each policy keeps its requests waiting longer for their first token than random routing
/// does. Confirmed where every policy does so at the longest delay, refuted where none does.
[[nodiscard]] core::Result<Outcome> judge_staleness(const StalenessPlan& plan, const Lab& lab);

}  // namespace ridgeline::studies
