#pragma once

#include "core/result.hpp"
#include "report/run_result.hpp"
#include "ridgeline/ridgeline.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::api {

/// Runs a resolved scenario with the hooks of a host. Fails where its workload cannot be read, and
/// as simulate() does.
[[nodiscard]] core::Result<report::RunResult> live_run(const scenario::Resolved& resolved,
                                                       const Hooks& hooks);

}  // namespace ridgeline::api
