#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/store/rules.hpp"
#include "core/time.hpp"

namespace ridgeline::scenario {

/// Section `cluster.kv_offload`: KV kept outside the GPUs, in the hosts' memory, on their disks,
/// and in a store that all instances share.
struct KvOffloadSection {
  store::OffloadRules rules;
  std::optional<std::string> cpu_bytes_to_use;
  std::optional<std::int64_t> offload_block_size;
  std::optional<std::string> eviction_policy;
  std::optional<bool> offload_prompt_only;
  std::optional<std::string> read_bandwidth;
  std::optional<std::string> write_bandwidth;
  std::optional<core::Duration> read_latency;
  std::optional<std::string> offload_sharing;
  std::optional<std::string> load_policy;
  std::optional<std::string> write_policy;
  std::optional<std::string> disk_bytes_to_use;
  std::optional<std::string> disk_eviction_policy;
  std::optional<std::string> disk_read_bandwidth;
  std::optional<std::string> disk_write_bandwidth;
  std::optional<core::Duration> disk_latency;
  std::optional<std::string> shared_bytes_to_use;
  std::optional<std::string> shared_eviction_policy;
  std::optional<std::string> shared_read_bandwidth;
  std::optional<std::string> shared_write_bandwidth;
  std::optional<core::Duration> shared_latency;
  std::optional<std::string> store_bandwidth;

  /// Whether KV is kept anywhere but on GPUs.
  [[nodiscard]] bool has_tier() const {
    return cpu_bytes_to_use || disk_bytes_to_use || shared_bytes_to_use;
  }
};

}  // namespace ridgeline::scenario
