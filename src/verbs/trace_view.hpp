#pragma once

#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "workload/trace_stats.hpp"

namespace ridgeline::verbs {

/// What workload::trace_tree() holds, on one screen.
[[nodiscard]] std::string trace_table(const document::Node& trace, const report::TextStyle& style);

/// The trace drawn: requests and tokens over time.
[[nodiscard]] std::string trace_svg(const workload::TraceStats& stats, const std::string& name);

}  // namespace ridgeline::verbs
