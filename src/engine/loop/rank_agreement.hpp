#pragma once

#include <cstdint>
#include <span>

#include "engine/loop/step_scheduler.hpp"

namespace ridgeline::engine {

/// What the ranks of a group (engine/loop/lock_step.hpp) tell each other before a step, where their
/// engine's ranks decide together. One of an engine's own folder derives from it.
class RankAgreement {
 public:
  RankAgreement() = default;
  RankAgreement(const RankAgreement&) = delete;
  RankAgreement& operator=(const RankAgreement&) = delete;
  virtual ~RankAgreement() = default;

  /// Settles the next step of all ranks: the next schedule() of each gives its part, empty where
  /// the rank runs a dummy. False where no rank runs; every part is then empty. `in_flight`: a step
  /// of the group is.
  virtual bool agree(std::span<StepScheduler* const> ranks, bool in_flight) = 0;
  /// So many rounds have passed in which every rank repeated itself or ran dummies.
  virtual void advance_quiet(std::span<StepScheduler* const> ranks, std::int64_t rounds) = 0;
};

}  // namespace ridgeline::engine
