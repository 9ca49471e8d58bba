#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

/// One routing decision, as it was made. The spans are of the instances that could be chosen, in
/// the order of their ids, and hold for the call alone.
struct Decision {
  core::RequestId request;
  core::SimTime at;
  std::int64_t gateway = 0;
  routing::Pick pick;
  std::span<const routing::InstanceView> instances;
  /// By instance, higher is better; NaN where a filter left it out. Empty of a policy that does not
  /// score.
  std::span<const double> scores;
  routing::Needs needs;           ///< What the policy reads.
  core::Duration notice_latency;  ///< How old its own counts are.

  /// When the oldest of what the policy reads of an instance was true: `at` where it reads nothing.
  [[nodiscard]] core::SimTime known_as_of(const routing::InstanceView& view) const {
    core::SimTime oldest = at;
    if (needs.own || needs.first_token) {
      oldest = at - std::min(notice_latency, at - core::SimTime());
    }
    if (needs.gauges) {
      oldest = std::min(oldest, view.gauges_as_of);
    }
    return needs.cache ? std::min(oldest, view.cache_as_of) : oldest;
  }
};

/// Gets every decision, in the order in which they were made.
class DecisionSink {
 public:
  virtual ~DecisionSink() = default;
  virtual void on_decision(const Decision& decision) = 0;
};

}  // namespace ridgeline::cluster
