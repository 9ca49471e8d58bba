#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "faults/plan.hpp"

namespace ridgeline::scenario {

/// Section `cluster.retries`.
struct RetriesSection {
  std::optional<std::int64_t> max_retries;
  std::optional<core::Duration> retry_backoff;
};

/// Section `cluster.health_check`.
struct HealthCheckSection {
  std::optional<core::Duration> probe_interval;
  std::optional<std::int64_t> probe_failures;
};

/// What a list of faults says.
struct FaultSettings {
  std::vector<faults::ListedFault> listed;
  std::optional<faults::RandomFaults> random;
};
/// Reads `cluster.faults`: maps, or texts as after --fault. Problems name their place.
[[nodiscard]] core::Result<FaultSettings> fault_settings(
    const std::optional<document::Node>& faults);

}  // namespace ridgeline::scenario
