#pragma once

#include <cstdint>
#include <optional>

namespace ridgeline::scenario {

/// A deployment's load, as far as it decides how it is shared out.
struct WholeLoad {
  std::optional<std::int64_t> clients = {};   ///< At most so many requests in flight.
  bool closed_loop = false;                   ///< Each client sends when it has its answer.
  std::optional<std::int64_t> requests = {};  ///< In all, where that is known.
};

/// What one of a deployment's data-parallel ranks gets of its load: the first one, which alone is
/// simulated. Requests go to the ranks in turn, as vLLM's load balancer sends each to the rank with
/// the fewest. Ranks beyond the number of clients or requests get nothing. In a closed loop whose
/// clients do not divide evenly, this rank has one client more than some others, and as many more
/// of the requests.
class RankShare {
 public:
  /// Requires ranks >= 1.
  RankShare(std::int64_t ranks, const WholeLoad& load);

  [[nodiscard]] std::int64_t ranks() const { return ranks_; }
  /// Ranks that get requests.
  [[nodiscard]] std::int64_t loaded_ranks() const { return loaded_; }

  /// The rank's share of so many clients, requests or requests per second of the deployment.
  [[nodiscard]] std::int64_t clients(std::int64_t whole) const;
  [[nodiscard]] std::int64_t requests(std::int64_t whole) const;
  [[nodiscard]] double rate(double whole) const;

  /// The number, in the deployment, of the rank's n-th request; both count from 0.
  [[nodiscard]] std::int64_t number(std::int64_t n) const;
  /// The deployment's throughput, as a multiple of the rank's.
  [[nodiscard]] double times() const;

 private:
  std::int64_t ranks_;
  std::int64_t loaded_;
  std::int64_t whole_ = 1;  ///< The deployment's load in units of which the rank has part_.
  std::int64_t part_ = 1;
  std::optional<std::int64_t> requests_;
};

}  // namespace ridgeline::scenario
