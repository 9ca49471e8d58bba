#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {

/// The population's standard deviation; percentiles interpolate between order statistics.
struct TokenSpread {
  double mean = 0.0;
  double std = 0.0;
  double p50 = 0.0;
  double p90 = 0.0;
  double p99 = 0.0;
  double max = 0.0;
};

/// A stretch of the trace.
struct TraceWindow {
  double start_s = 0.0;
  std::int64_t requests = 0;
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
};

/// What a prefix cache of that size would have found, if answers took no time.
struct CachePoint {
  std::int64_t blocks = 0;
  std::int64_t tokens = 0;
  double hit_rate = 0.0;  ///< Hits over all prompt blocks.
};

struct BlockReuse {
  std::int64_t block_tokens = 0;
  std::int64_t blocks = 0;    ///< Blocks of all prompts; a last one that is not full counts.
  std::int64_t repeated = 0;  ///< Blocks that were in a prompt before.
  /// Different blocks, those of answers that prompts go on from too.
  std::int64_t working_set = 0;
  /// repeated / blocks: the hit rate of a cache without end; nothing where no prompt says what it
  /// holds.
  std::optional<double> ideal = {};
  /// Least recently used first out; powers of two up to the working set.
  std::vector<CachePoint> by_cache_size = {};
};

struct LabelCount {
  std::string name;
  std::int64_t requests = 0;
};

/// A workload in numbers.
struct TraceStats {
  std::string format = {};
  std::int64_t requests = 0;
  double duration_s = 0.0;                  ///< First to last arrival.
  std::optional<double> request_rate = {};  ///< requests / duration_s.
  std::optional<double> peak_rate = {};     ///< Rate in the busiest window; not below request_rate.
  /// 1 / cv^2 of the gaps between arrivals: the shape of a gamma law with their moments, 1 for a
  /// Poisson process, less for bursts. Nothing for fewer than two gaps, or where they are equal but
  /// for rounding (a cv below 1 %): the rate is constant.
  std::optional<double> burstiness = {};
  std::optional<double> gap_cv = {};
  TokenSpread input_tokens = {};
  TokenSpread output_tokens = {};
  std::int64_t total_input_tokens = 0;
  std::int64_t total_output_tokens = 0;
  std::optional<double> length_correlation =
      {};  ///< Pearson's, input with output; nothing if constant.
  std::int64_t sessions = 0;
  double turns_per_session = 0.0;
  std::optional<double> session_rate =
      {};                    ///< Over the time from the first one's begin to the last's.
  std::int64_t waiting = 0;  ///< Requests that wait for answers.
  std::int64_t images = 0;
  std::vector<LabelCount> models = {};
  std::vector<LabelCount> tenants = {};
  std::vector<LabelCount> slo_classes = {};
  BlockReuse reuse = {};
  std::vector<TraceWindow> windows = {};
  core::Warnings warnings = {};
};

/// The block of prompts whose source has none: vLLM's.
inline constexpr core::Tokens kDefaultStatsBlock{16};

/// Reads a stream to its end, as if answers took no time, and describes it. `block` zero: the
/// stream's own, else kDefaultStatsBlock.
[[nodiscard]] core::Result<TraceStats> describe_trace(std::unique_ptr<ItemStream> stream,
                                                      std::string format,
                                                      core::Tokens block = core::Tokens(0));

}  // namespace ridgeline::workload
