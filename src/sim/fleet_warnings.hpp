#pragma once

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// Adds what the reader of a fleet's result should know of its gateway: settings that could not
/// matter, readings of gauges further apart than the run is long, a router's memory that is larger
/// than the KV cache it stands for, and prompts counted in characters.
void add_fleet_warnings(const scenario::Resolved& resolved,
                        const metrics::Summary& summary,
                        core::Warnings& warnings);

}  // namespace ridgeline::sim
