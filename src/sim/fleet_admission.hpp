#pragma once

#include <optional>

#include "cluster/admission_part.hpp"
#include "cluster/part.hpp"
#include "core/result.hpp"
#include "domain/tenants.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// The tenants of a scenario's cluster, by the labels of a workload. Both outlive it.
[[nodiscard]] domain::Tenants tenants_of(const scenario::Resolved& resolved,
                                         const workload::Source& source);
/// What makes the gateway's admission; nothing where it lets every request in at once. `part` is
/// set when it is made. All outlive the cluster.
[[nodiscard]] std::optional<cluster::PartMaker> admission_maker(
    const scenario::Resolved& resolved,
    domain::Tenants& tenants,
    const cluster::AdmissionPart*& part);
/// That the workload has no tenants, but the scenario lists some; after a run: that the scenario
/// does not list some that the workload has.
[[nodiscard]] core::Errors tenant_errors(const scenario::Resolved& resolved,
                                         const workload::Source& source,
                                         const domain::Tenants& tenants);
/// Adds what the requests do not say. `part` as admission_maker() sets it.
void fill_admission(const scenario::Resolved& resolved,
                    const cluster::AdmissionPart* part,
                    metrics::FleetSummary& fleet);

}  // namespace ridgeline::sim
