#include "engine/sglang/state_slots.hpp"

#include <cstdint>

namespace ridgeline::engine::sglang {

void StateSlots::keep(TreeNode& node) {
  NodeState& state = node.*at_;
  if (state.is_kept) {
    ++free_;
  } else {
    state.is_kept = true;
    ++kept_;
  }
  use(node);
}

void StateSlots::drop(TreeNode& node) {
  NodeState& state = node.*at_;
  if (state.is_kept) {
    unused_.erase({state.access, &node});
    state.is_kept = false;
    --kept_;
    ++free_;
  }
}

void StateSlots::use(TreeNode& node) {
  NodeState& state = node.*at_;
  unused_.erase({state.access, &node});
  state.access = ++clock_;
  if (is_unused(state)) {
    unused_.emplace(state.access, &node);
  }
}

void StateSlots::lock(TreeNode& node) {
  NodeState& state = node.*at_;
  unused_.erase({state.access, &node});
  ++state.locks;
}

void StateSlots::unlock(TreeNode& node) {
  NodeState& state = node.*at_;
  --state.locks;
  if (is_unused(state)) {
    unused_.emplace(state.access, &node);
  }
}

}  // namespace ridgeline::engine::sglang
