#pragma once

#include <optional>

#include "cluster/disaggregation.hpp"
#include "cluster/part.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// Whether the scenario's cluster has instances for prompts alone.
[[nodiscard]] bool is_disaggregated(const scenario::Resolved& resolved);
/// What makes prefill and decode apart; nothing where every instance does both. `part` is set when
/// it is made. All outlive the cluster.
[[nodiscard]] std::optional<cluster::PartMaker> disaggregation_maker(
    const scenario::Resolved& resolved, const cluster::Disaggregation*& part);
/// Adds what the requests do not say. `part` as disaggregation_maker() sets it.
void fill_transfers(const scenario::Resolved& resolved,
                    const cluster::Disaggregation* part,
                    metrics::FleetSummary& fleet);

}  // namespace ridgeline::sim
