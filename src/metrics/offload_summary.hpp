#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::metrics {

/// What one kind of KV tier did, over all instances. Its blocks are as large as
/// OffloadSummary::block_tokens says, in bytes as each pool's network has it.
struct TierSummary {
  std::string tier;                  ///< "host", "disk", "shared".
  std::int64_t capacity_blocks = 0;  ///< For a store, by the pool whose blocks are smallest.
  std::int64_t peak_blocks = 0;      ///< Sum of the instances' peaks.
  std::int64_t hit_tokens = 0;       ///< Loaded from it.
  std::int64_t loads = 0;            ///< Transfers to GPUs, one per request that loads from it.
  std::int64_t bytes_read = 0;
  std::optional<double> read_ms;  ///< Mean of such a transfer, first to last byte.
  std::int64_t bytes_written = 0;
  std::int64_t blocks_written = 0;
  std::int64_t blocks_evicted = 0;
  std::int64_t blocks_refused = 0;  ///< Found no room: all others were being read or written.
  /// Share of the capacity of the busiest host's link with the tier, over the run.
  std::optional<double> read_utilisation;
  std::optional<double> write_utilisation;
};

/// KV kept outside the GPUs, in numbers.
struct OffloadSummary {
  std::optional<std::int64_t> block_tokens;  ///< None where pools differ in it.
  std::int64_t query_tokens = 0;             ///< In full blocks that the GPUs lacked.
  std::int64_t hit_tokens = 0;               ///< Tokens of those blocks that were loaded.
  std::optional<double> hit_rate;
  std::int64_t loads = 0;          ///< Requests that got all that they loaded.
  std::optional<double> load_ms;   ///< Mean of them, from blocks on the GPUs to the last byte.
  std::int64_t recomputed = 0;     ///< Requests that computed what there was, as sooner.
  std::vector<TierSummary> tiers;  ///< The fastest first.
};

}  // namespace ridgeline::metrics
