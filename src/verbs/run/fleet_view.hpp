#pragma once

#include <string_view>

#include "document/document.hpp"
#include "report/format.hpp"
#include "report/table/sheet.hpp"

namespace ridgeline::verbs {

/// What a gateway and its instances did, from a run's `summary`: a line each of routing, transfers,
/// tiers, admission and operations where there are some, and a row per pool, instance and tenant.
/// Nothing where a single instance served.
void add_fleet(const document::Node& summary, report::Sheet& sheet);

/// The unit in which a latency of the whole run reads best.
[[nodiscard]] report::TimeUnit unit_of_run(const document::Node& summary, std::string_view latency);

}  // namespace ridgeline::verbs
