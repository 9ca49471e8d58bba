#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "routing/scorers/candidate.hpp"
#include "routing/scorers/columns.hpp"

/// Filters and saturation detectors of llm-d (llm-d-router ebab687): which candidates stay.
namespace ridgeline::routing {

/// Places of candidates, in order.
using Places = std::vector<std::size_t>;

/// Options of the filter that keeps requests where their prefix is.
struct AffinityOptions {
  double threshold = 0.8;          ///< Matched share from which an instance is sticky.
  double max_penalty_ms = 18e3;    ///< TTFT penalty before stickiness gives way.
  double prefill_rate = 15'928.0;  ///< Tokens per second, for the estimate of TTFT.
};
/// The sticky candidates; all where none is, or where the best of them is later by more than the
/// penalty.
[[nodiscard]] Places sticky_candidates(const Columns& all, const AffinityOptions& options = {});

/// Where a request would meet its targets; or, with the probability `explore`, and where it would
/// nowhere, the others. `drawn` is uniform between 0 and 1. All where one kind is empty.
[[nodiscard]] Places headroom_tier(const Columns& all, double explore, double drawn);

/// What a utilization filter looks at.
enum class Utilization : std::uint8_t { kWaiting, kRunning, kKvUsage, kInFlight };
struct UtilizationLimit {
  Utilization metric = Utilization::kWaiting;
  double highest = 0.0;  ///< Included.
};
/// Those within every limit; all where none is left and `all_if_empty`.
[[nodiscard]] Places within_limits(const Columns& all,
                                   const std::vector<UtilizationLimit>& limits,
                                   bool all_if_empty);

/// Where the request's session was served last; all where it was served by none of them.
[[nodiscard]] Places session_candidates(const Columns& all);

struct UtilizationThresholds {
  double queue_depth = 5.0;
  double kv_usage = 0.8;
  double headroom = 0.0;  ///< On top of the thresholds, as a filter.
};
/// Mean over candidates of the larger of waiting and KV usage, each over its threshold. A stale
/// candidate counts as 1, and so does no candidate at all.
[[nodiscard]] double utilization_saturation(Candidates candidates,
                                            const std::vector<bool>& stale,
                                            const UtilizationThresholds& thresholds = {});
/// Strictly below both thresholds and fresh; all where none is left.
[[nodiscard]] Places unsaturated(Candidates candidates,
                                 const std::vector<bool>& stale,
                                 const UtilizationThresholds& thresholds = {});

enum class Concurrency : std::uint8_t { kRequests, kTokens, kHybrid };
struct ConcurrencyLimits {
  Concurrency mode = Concurrency::kRequests;
  double requests = 100.0;
  double tokens = 1e6;
  double headroom = 0.0;
};
/// Mean over candidates of what is in flight over its limit; 1 without candidates.
[[nodiscard]] double concurrency_saturation(Candidates candidates, const ConcurrencyLimits& limits);
/// Those strictly below their limit; none where none is.
[[nodiscard]] Places below_concurrency(Candidates candidates, const ConcurrencyLimits& limits);

}  // namespace ridgeline::routing
