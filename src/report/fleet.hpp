#pragma once

#include <string>

#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// What a gateway and its instances did: a line each of routing, transfers, tiers, admission and
/// operations where there are some, and a row per pool, instance and tenant. Empty where a single
/// instance served.
[[nodiscard]] std::string fleet_table(const metrics::Summary& summary, const TextStyle& style);

}  // namespace ridgeline::report
