#pragma once

#include <cstddef>
#include <optional>

#include "api/policies.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "report/run_result.hpp"
#include "ridgeline/ridgeline.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::api {

/// What a host wants of a run beside its result; pointers may be null.
struct LiveOptions {
  HostPolicies* policies = nullptr;
  KeptTables* tables = nullptr;
  std::optional<std::size_t> series_windows = {};
};

/// A scenario that was loaded to be looked at may have none.
[[nodiscard]] bool has_workload(const scenario::WorkloadSection& workload);

/// Runs a resolved scenario with the hooks of a host. Fails where its workload cannot be read,
/// where a policy of the host fails, and as simulate() does.
[[nodiscard]] core::Result<report::RunResult> live_run(const scenario::Resolved& resolved,
                                                       const Hooks& hooks,
                                                       const LiveOptions& options = {});

}  // namespace ridgeline::api
