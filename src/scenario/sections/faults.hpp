#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/faults/plan.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {

inline constexpr std::string_view kFaultsPath = "cluster.faults";
inline constexpr std::string_view kMaxRetriesPath = "cluster.retries.max_retries";
inline constexpr std::string_view kRetryBackoffPath = "cluster.retries.retry_backoff";

/// A fault's kind that stands for crashes of all instances of a host.
inline constexpr std::string_view kNodeLoss = "node-loss";

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

/// A listed fault, with the words that stand for its instances.
struct FaultEntry : faults::ListedFault {
  std::string pool = {};                  ///< A pool's name, or `prefill` or `decode`.
  std::optional<std::int64_t> host = {};  ///< Host of a node that is lost, or of a link's fault.
};

/// What a list of faults says.
struct FaultSettings {
  std::vector<FaultEntry> listed;
  std::vector<faults::RandomFaults> random;  ///< By chance, at most one of each kind.
};
/// Reads `cluster.faults`: maps, or texts as after --fault. Problems name their place.
[[nodiscard]] core::Result<FaultSettings> fault_settings(
    const std::optional<document::Node>& faults);
/// For how long at most KV events of an instance are lost, and whether that may be for good.
struct EventLosses {
  core::Duration longest;
  bool may_forget = false;
};
[[nodiscard]] EventLosses event_losses(const FaultSettings& settings);
/// Whether a fault strikes a host, so that cluster.kv_transfer.instances_per_host matters.
[[nodiscard]] bool names_hosts(const std::optional<document::Node>& faults);

}  // namespace ridgeline::scenario
