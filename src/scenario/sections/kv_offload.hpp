#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/time.hpp"
#include "scenario/deployment.hpp"
#include "scenario/sections/kv_offload_section.hpp"

namespace ridgeline::scenario {

/// One tier in numbers.
struct KvTier {
  std::int64_t bytes = 0;  ///< Size for one instance, or of the store; 0: there is no such tier.
  std::string eviction;
  std::int64_t read_rate = 0;  ///< Bytes per second of a host.
  std::int64_t write_rate = 0;
  core::Duration latency = {};
};
inline constexpr std::size_t kNumKvTiers = 3;

/// The tiers that the section names: of the host, of its disk, and the shared store.
struct KvTiers {
  std::array<KvTier, kNumKvTiers> tiers = {};
  std::int64_t store_rate = 0;  ///< Bytes per second of the store, each way; 0: no limit.
};
/// The field of an error is the option's path.
[[nodiscard]] core::Result<KvTiers> kv_tiers(const KvOffloadSection& section);

/// KV bytes of a block of the engine, over all GPUs of an instance.
[[nodiscard]] std::int64_t kv_block_bytes(const Deployment& deployment);

/// What a deployment does not allow: tiers smaller than a block of theirs, blocks that are no whole
/// number of the engine's, caches that the tiers do not take.
[[nodiscard]] core::Errors offload_errors(const KvOffloadSection& section,
                                          const Deployment& deployment);

}  // namespace ridgeline::scenario
