#pragma once

#include <span>
#include <vector>

#include "core/time.hpp"
#include "domain/step.hpp"

namespace ridgeline::engine {

/// The stages of a pipeline, each of which works on one step at a time, in the order in which steps
/// came in. m equal steps that enter p equal stages of time t together leave at t * p, t * (p + 1),
/// ..., t * (m + p - 1): p - 1 parts of that are the bubble of filling it (GPipe,
/// arXiv:1811.06965, section 2).
class Pipeline {
 public:
  /// When a step that comes at `now` leaves the last stage; `times` as many at every call.
  core::SimTime pass(core::SimTime now, std::span<const core::Duration> times);
  /// Every stage that is busy at `from` stands still for `delay`.
  void stall(core::SimTime from, core::Duration delay);

 private:
  std::vector<core::SimTime> free_;  ///< When each stage is free.
};

/// `time` shrunk or stretched to `total` of GPU time, each part in proportion. Requires
/// time.gpu() > 0.
[[nodiscard]] domain::StepTime in_proportion(const domain::StepTime& time, core::Duration total);

}  // namespace ridgeline::engine
