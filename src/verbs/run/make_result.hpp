#pragma once

#include <optional>
#include <string>

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "sim/simulation.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// What the caller of a simulation knows of it beside its outcome.
struct RunStory {
  double wall_time_s = 0.0;
  std::optional<std::string> host;
  std::string engine_core;  ///< "fast" or "reference".
};

/// The result of a simulated scenario, with the warnings of both.
[[nodiscard]] RunResult run_result(const scenario::Resolved& resolved,
                                   sim::RunOutcome outcome,
                                   const RunStory& story);

/// That there were requests and none got an answer; nothing where one did.
[[nodiscard]] std::optional<core::Error> unanswered(const scenario::Resolved& resolved,
                                                    const metrics::Summary& summary);

/// A line for each target that is missed; empty where none is. A run in which nothing completed
/// misses all of them; a latency that no request has (the TPOT of single tokens) none.
[[nodiscard]] std::string missed_targets(const metrics::Summary& summary);

}  // namespace ridgeline::verbs
