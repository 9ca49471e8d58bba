#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "routing/scorers/candidate.hpp"

namespace ridgeline::routing {

/// Candidates as scorers read them: each number of all candidates in a row, so that a pass over
/// many instances reads one row. A row has one number per candidate, whole numbers below 2^53; a
/// row that no scorer of a profile reads may stay empty.
struct Columns {
  Columns() = default;
  // Scorers take candidates as well: NOLINTBEGIN(google-explicit-constructor)
  Columns(Candidates candidates);
  Columns(const std::vector<Candidate>& candidates) : Columns(Candidates(candidates)) {}
  // NOLINTEND(google-explicit-constructor)

  std::size_t size = 0;  ///< Candidates.
  std::vector<double> waiting = {};
  std::vector<double> running = {};
  std::vector<double> kv_usage = {};
  std::vector<double> inflight_requests = {};
  std::vector<double> inflight_tokens = {};
  std::vector<double> uncached_tokens = {};
  std::vector<double> matched = {};  ///< As PrefixMatch, like the next two.
  std::vector<double> total = {};
  std::vector<double> block_tokens = {};
  std::vector<double> session = {};  ///< 1 where the request's session was served last, else 0.
  /// How near the instance of the request's other leg is (nearness()); 0 without one.
  std::vector<double> nearness = {};
  std::vector<std::optional<Headroom>> headroom = {};  ///< Empty where no latency is predicted.

  /// PrefixMatch::ratio() of a candidate.
  [[nodiscard]] double ratio(std::size_t i) const {
    return matched[i] != 0.0 && total[i] > 0.0 ? matched[i] / total[i] : 0.0;
  }
  /// Becomes the candidates of `all` at these places.
  void assign(const Columns& all, std::span<const std::size_t> places);
};

/// The lowest and the highest number; zeros without any.
[[nodiscard]] Extent extent_of(std::span<const double> numbers);
/// The highest number. Requires one.
[[nodiscard]] double highest_of(std::span<const double> numbers);
/// The lowest number. Requires one.
[[nodiscard]] double lowest_of(std::span<const double> numbers);

}  // namespace ridgeline::routing
