#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/time.hpp"
#include "engine/instance.hpp"
#include "engine/loop/rank_steps.hpp"
#include "engine/server.hpp"

namespace ridgeline::engine {

class LockStep;

/// Instances that are the data-parallel ranks of one engine in lock-step
/// (engine/loop/lock_step.hpp): requests come to each by its own frontend, and time goes on for all
/// of them together.
class InstanceGroup {
 public:
  /// Instances made as ranks (InstanceInputs::in_lock_step), which outlive this.
  explicit InstanceGroup(std::vector<Instance*> members);
  InstanceGroup(InstanceGroup&&) noexcept;
  InstanceGroup& operator=(InstanceGroup&&) noexcept;
  ~InstanceGroup();

  /// As Server::advance(), of all members.
  Pause advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments);
  /// As Instance::next_visible(), of any member.
  [[nodiscard]] core::SimTime next_visible() const;
  /// What the rank in that place did besides its EngineTotals.
  [[nodiscard]] const RankSteps& steps_of(std::size_t rank) const;

 private:
  [[nodiscard]] core::SimTime next_handover() const;
  [[nodiscard]] std::int64_t num_ended() const;

  std::vector<Instance*> members_;
  std::unique_ptr<LockStep> ranks_;
};

}  // namespace ridgeline::engine
