#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "routing/router.hpp"

namespace ridgeline::routing {

/// How much of the request's prompt the router believes an instance to hold, in blocks of the
/// router's own size.
struct PrefixMatch {
  std::int64_t matched = 0;
  std::int64_t total = 0;         ///< Blocks of the prompt; 0: not known.
  std::int64_t block_tokens = 0;  ///< Tokens of a block.

  [[nodiscard]] double ratio() const {
    return total > 0 ? static_cast<double>(matched) / static_cast<double>(total) : 0.0;
  }
};

/// Which adapters an instance says it holds.
struct Adapters {
  std::vector<std::string> active = {};
  std::vector<std::string> waiting = {};
  std::int64_t most = 0;  ///< It can hold at once.
};

/// One instance as scorers and filters see it at a decision.
struct Candidate {
  Gauges gauges = {};
  std::int64_t inflight_requests = 0;  ///< By the router's own count, like the next.
  std::int64_t inflight_tokens = 0;
  std::int64_t uncached_tokens = 0;  ///< Uncached tokens of this request's prompt there.
  PrefixMatch prefix = {};
  Adapters adapters = {};
  bool served_session = false;            ///< The request before of its session was sent there.
  std::optional<Headroom> headroom = {};  ///< Where latency is predicted.
};

using Candidates = std::span<const Candidate>;

/// The span of one number over all candidates.
struct Extent {
  double lowest = 0.0;
  double highest = 0.0;
};

/// Extent of `value`, a function of a candidate; zeros without candidates.
template <class Value>
[[nodiscard]] Extent extent_of(Candidates candidates, const Value& value) {
  Extent extent;
  bool first = true;
  for (const Candidate& candidate : candidates) {
    const auto number = static_cast<double>(value(candidate));
    extent.lowest = first || number < extent.lowest ? number : extent.lowest;
    extent.highest = first || number > extent.highest ? number : extent.highest;
    first = false;
  }
  return extent;
}

}  // namespace ridgeline::routing
