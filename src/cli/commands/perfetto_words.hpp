#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "sim/logs/perfetto.hpp"

namespace ridgeline::cli {

/// --perfetto-out, --perfetto-window and --perfetto-max-events.
[[nodiscard]] std::vector<FlagSpec> perfetto_flags();

/// What they ask for; a window or a limit without a file is refused.
[[nodiscard]] core::Result<sim::PerfettoOptions> perfetto_options(const Arguments& arguments);

/// Says that a trace was cut, and the window that would have held all of it until then.
[[nodiscard]] core::Warning perfetto_cut_warning(const Arguments& arguments, core::SimTime cut);

}  // namespace ridgeline::cli
