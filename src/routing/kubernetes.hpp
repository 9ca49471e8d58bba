#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

/// Policies of routers for Kubernetes beside llm-d: AIBrix (e3e10f9), kthena (3cc0572) and vLLM's
/// production-stack (a6c01db), all of August 2026.
namespace ridgeline::routing {

/// AIBrix's prefix-cache: what may be chosen, and whether the counts are too far apart.
struct AibrixChoice {
  bool imbalanced = false;
  bool matched = false;  ///< By its prefix; or else there was a match, but too busy.
  bool skipped = false;
  std::vector<std::size_t> picks = {};  ///< More than one: a draw.
};
/// `match_percent` and `running` of each pod. Counts further apart than `imbalance` leave only the
/// least busy; the best match within `deviations` standard deviations of their mean is taken, else
/// the least busy.
[[nodiscard]] AibrixChoice aibrix_prefix_cache(const std::vector<std::int64_t>& match_percent,
                                               const std::vector<std::int64_t>& running,
                                               std::int64_t imbalance = 8,
                                               double deviations = 1.0);
/// The places of the smallest number.
[[nodiscard]] std::vector<std::size_t> places_of_least(const std::vector<std::int64_t>& numbers);

/// kthena's scores are whole numbers from 0 to 100, cut towards zero.
using WholeScores = std::vector<std::int64_t>;
[[nodiscard]] WholeScores kthena_least_request(const std::vector<std::int64_t>& in_flight,
                                               const std::vector<std::int64_t>& running);
[[nodiscard]] WholeScores kthena_gpu_usage(const std::vector<double>& kv_usage);
/// A time that was never observed is zero: it scores 50 and is left out of the extremes.
[[nodiscard]] WholeScores kthena_least_latency(const std::vector<double>& ttft_s,
                                               const std::vector<double>& tpot_s,
                                               double ttft_weight = 0.5);

/// production-stack's fallback: the endpoint without statistics, else the lowest rate.
[[nodiscard]] std::size_t lowest_rate(const std::vector<std::optional<double>>& rates);

/// production-stack's roundrobin: the endpoints by name, with a turn for each set of them.
class RoundRobinBySet {
 public:
  [[nodiscard]] std::string next(std::vector<std::string> endpoints);

 private:
  std::map<std::vector<std::string>, std::size_t> turns_;
};

/// production-stack's prefixaware: a trie of chunks of prompts, never evicted.
class ChunkTrie {
 public:
  struct Match {
    std::int64_t chunks = 0;
    std::vector<std::size_t> endpoints;  ///< That were given them; none where no chunk matches.
  };
  /// The longest beginning of these chunks that any endpoint was given.
  [[nodiscard]] Match longest(const std::vector<std::uint64_t>& chunks) const;
  void insert(const std::vector<std::uint64_t>& chunks, std::size_t endpoint);

 private:
  /// A run of chunks that were only ever given together.
  struct Node {
    std::vector<std::uint64_t> chunks;                                  ///< None at the root.
    std::unordered_map<std::uint64_t, std::unique_ptr<Node>> children;  ///< By their first chunk.
    std::vector<std::size_t> endpoints;                                 ///< In order.
  };
  Node root_;
};

}  // namespace ridgeline::routing
