#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "routing/scorers/candidate.hpp"
#include "routing/scorers/columns.hpp"

/// Scores of candidates, one each in their order, from 0 to 1 and higher for better. llm-d's
/// (llm-d-router ebab687, 2026-08-22) unless they say otherwise. Where a function takes `room`, the
/// scores are in that vector's memory.
namespace ridgeline::routing {

using Scores = std::vector<double>;

/// (max - x) / (max - min) of the waiting requests; 1 where all are equal.
[[nodiscard]] Scores queue_scores(const Columns& all, Scores room = {});
/// (max - x) / (max - min) of the running requests; 1 where all are equal.
[[nodiscard]] Scores running_scores(const Columns& all, Scores room = {});
/// 1 - share of KV blocks in use.
[[nodiscard]] Scores kv_utilization_scores(const Columns& all, Scores room = {});
/// 0.5 where nothing waits, 0 where `threshold` or more do.
[[nodiscard]] Scores load_aware_scores(const Columns& all,
                                       double threshold = 128.0,
                                       Scores room = {});
/// 1 up to `idle` requests in flight, else at most `busy_score`, by the distance from the most.
[[nodiscard]] Scores active_request_scores(const Columns& all,
                                           std::int64_t idle = 0,
                                           double busy_score = 1.0,
                                           Scores room = {});
/// Tokens in flight with the uncached ones of this request, of `threshold`.
[[nodiscard]] Scores token_load_scores(const Columns& all,
                                       double threshold = 4'194'304.0,
                                       Scores room = {});
/// Matched share of the prompt, or, with `length_weight`, that share of the square of the matched
/// tokens over `length_scale`.
[[nodiscard]] Scores prefix_scores(const Columns& all,
                                   double length_weight = 0.0,
                                   double length_scale = 8192.0,
                                   Scores room = {});
/// 1 where the request's session was served last; 0 elsewhere, and without one.
[[nodiscard]] Scores session_affinity_scores(const Columns& all, Scores room = {});
/// By the nearest level that two sites share: 1 for a host, 0.20 for a rack, 0.05 for a zone, 0.02
/// for a region, else 0.
[[nodiscard]] double nearness(const Site& one, const Site& other);
/// nearness() of the instance of the request's other leg; 0 without one.
[[nodiscard]] Scores topology_affinity_scores(const Columns& all, Scores room = {});
/// 1 where the adapter is active, 0.8 where there is room, 0.6 where it waits, else 0.
[[nodiscard]] Scores lora_affinity_scores(Candidates candidates, const std::string& adapter);

/// A range of prompt lengths that an instance is labelled for, both ends included.
struct ContextRange {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};
/// By how narrowly the instance's range holds the prompt; 0.5 without a range.
[[nodiscard]] double context_length_score(std::optional<ContextRange> range,
                                          std::int64_t prompt_tokens);

/// How the latency scorer weighs.
struct LatencyWeights {
  double ttft = 0.8;
  double tpot = 0.2;
  bool most_headroom = false;  ///< Prefers the most headroom, not the least.
  double kv = 1.0;  ///< Weight in the mean where nothing is predicted, like the next two.
  double queue = 1.0;
  double prefix = 1.0;
};
/// By predicted headroom, in hundredths up to 1.01; outside the best class 0. An idle candidate has
/// nothing dispatched (inflight_requests).
[[nodiscard]] Scores latency_scores(const Columns& all, const LatencyWeights& weights = {});

/// inference-sim's (f90a1e3): 1 / (1 + waiting + running + in flight).
[[nodiscard]] Scores load_balance_scores(const Columns& all, Scores room = {});
/// inference-sim's: (max - in flight) / max; 1 where the most is zero.
[[nodiscard]] Scores active_requests_scores(const Columns& all, Scores room = {});
/// inference-sim's: 4 waiting + running, as queue_scores().
[[nodiscard]] Scores vllm_dp_scores(const Columns& all, Scores room = {});
/// inference-sim's: matched blocks between the fewest and the most; 1 where all are equal.
[[nodiscard]] Scores precise_prefix_scores(const Columns& all, Scores room = {});
/// inference-sim's: 1 where the adapter is active, else 0; 1 where all are equal or none is asked
/// for.
[[nodiscard]] Scores resident_adapter_scores(Candidates candidates, const std::string& adapter);

/// The weighted sum of scores clamped to 0 to 1.
void add_weighted(Scores& sums, const Scores& scores, double weight);

}  // namespace ridgeline::routing
