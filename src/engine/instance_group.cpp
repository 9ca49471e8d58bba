#include "engine/instance_group.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"
#include "engine/instance.hpp"
#include "engine/loop/lock_step.hpp"
#include "engine/loop/rank_agreement.hpp"
#include "engine/loop/rank_steps.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/schedulers.hpp"
#include "engine/server.hpp"

namespace ridgeline::engine {

InstanceGroup::InstanceGroup(std::vector<Instance*> members)
    : members_(std::move(members)),
      ranks_(std::make_unique<LockStep>(
          [&] {
            std::vector<StepLoop*> ranks;
            for (const Instance* const member : members_) {
              RIDGELINE_CHECK(member->rank_ != nullptr,
                              "an instance in lock-step is made as a rank");
              ranks.push_back(member->rank_);
            }
            return ranks;
          }(),
          scheduler_of(members_.front()->rank_->options()).ranks_agree_every,
          make_rank_agreement(members_.front()->rank_->options()))) {}

InstanceGroup::InstanceGroup(InstanceGroup&&) noexcept = default;
InstanceGroup& InstanceGroup::operator=(InstanceGroup&&) noexcept = default;
InstanceGroup::~InstanceGroup() = default;

const RankSteps& InstanceGroup::steps_of(std::size_t rank) const {
  return ranks_->steps_of(rank);
}

core::SimTime InstanceGroup::next_handover() const {
  core::SimTime next = core::SimTime::never();
  for (const Instance* const member : members_) {
    next = std::min(next, member->next_handover());
  }
  return next;
}

std::int64_t InstanceGroup::num_ended() const {
  std::int64_t ended = 0;
  for (const Instance* const member : members_) {
    ended += member->num_ended_;
  }
  return ended;
}

core::SimTime InstanceGroup::next_visible() const {
  core::SimTime next = core::SimTime::never();
  for (const Instance* const member : members_) {
    next = std::min(next, member->next_visible());
  }
  return next;
}

Pause InstanceGroup::advance(core::SimTime limit,
                             bool pause_at_completion,
                             std::int64_t max_segments) {
  while (true) {
    const core::SimTime handover = next_handover();
    const Pause pause =
        ranks_->advance(std::min(limit, handover), pause_at_completion, max_segments);
    if (pause != Pause::kLimit && pause != Pause::kIdle) {
      return pause;
    }
    if (handover >= limit) {
      const bool none_left = std::ranges::all_of(
          members_, [](const Instance* member) { return member->in_frontend_.empty(); });
      if (pause == Pause::kLimit || none_left) {
        return pause;
      }
      // The ranks are idle, and a frontend is not: a request they will never get out in time.
      return limit == core::SimTime::never() ? Pause::kHorizon : Pause::kLimit;
    }
    const std::int64_t ended = num_ended();
    for (Instance* const member : members_) {
      if (member->next_handover() == handover) {
        member->hand_over();
      }
    }
    if (pause_at_completion && num_ended() > ended) {
      return Pause::kCompletion;  // Refused.
    }
  }
}

}  // namespace ridgeline::engine
