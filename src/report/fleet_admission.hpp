#pragma once

#include <string>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// summary.cluster.admission and summary.cluster.per_tenant of a result.
[[nodiscard]] document::Node admission_tree(const metrics::AdmissionSummary& admission);
[[nodiscard]] document::Node tenants_tree(const metrics::FleetSummary& fleet);
/// A line of admission, and a row per tenant; empty where there is neither.
[[nodiscard]] std::string admission_table(const metrics::Summary& summary, const TextStyle& style);

}  // namespace ridgeline::report
