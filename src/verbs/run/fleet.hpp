#pragma once

#include <string>

#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {

/// What a gateway and its instances did: a line each of routing, transfers, tiers, admission and
/// operations where there are some, and a row per pool, instance and tenant. Empty where a single
/// instance served.
[[nodiscard]] std::string fleet_table(const metrics::Summary& summary,
                                      const report::TextStyle& style);

}  // namespace ridgeline::verbs
