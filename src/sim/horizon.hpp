#pragma once

#include <cstdint>
#include <optional>

#include "core/result.hpp"
#include "core/time.hpp"
#include "engine/options.hpp"
#include "scenario/resolve.hpp"

/// The end of simulated time (core::SimTime::last).
namespace ridgeline::sim {

/// The latest instant at which a step may end, so that the answers to its requests reach their
/// clients within the range of simulated time. Before the start of the run if none may.
[[nodiscard]] core::SimTime last_step_end(const engine::RequestPath& path);

/// Why a run ends without a result that would go on past the range of simulated time. Names the
/// setting to change: a time of the server that is implausible in itself, or else the size of the
/// workload. `completed`: requests answered within the range; `total`: of all, when known.
[[nodiscard]] core::Error past_horizon(const scenario::Resolved& resolved,
                                       std::int64_t completed,
                                       std::optional<std::int64_t> total);

}  // namespace ridgeline::sim
