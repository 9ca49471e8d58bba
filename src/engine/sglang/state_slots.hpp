#pragma once

#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "core/check.hpp"
#include "engine/sglang/tokens.hpp"

namespace ridgeline::engine::sglang {

struct TreeNode;

/// The recurrent state at a node's end, as a pool of them has it.
struct NodeState {
  bool is_kept = false;
  std::int64_t access = 0;
  std::int64_t locks = 0;  ///< Requests that go on from it.
};

/// A node of the radix tree: the KV of the tokens between its parent's end and its own, in whole
/// pages.
struct TreeNode {
  std::uint64_t id = 0;  ///< In the order of their making.
  TreeNode* parent = nullptr;
  TreeNode* first_child = nullptr;  ///< Children in the order in which they came.
  TreeNode* last_child = nullptr;
  TreeNode* previous = nullptr;  ///< Siblings.
  TreeNode* next = nullptr;
  std::uint64_t page = 0;  ///< Hash of the first page, by which the parent finds it.
  Tokens key;
  std::int64_t lock_ref = 0;  ///< Requests that use it or a node below it.
  std::int64_t last_access = 0;
  std::int64_t creation = 0;
  std::int64_t hits = 0;  ///< Inserts that met it.
  std::int32_t priority = 0;
  bool on_device = true;   ///< Its KV is in the GPU's pool ...
  bool is_pinned = false;  ///< It is about to come from the host.
  bool on_host = false;    ///< ... and in the host's, of which a part may be on its way there.
  std::int64_t device_children = 0;  ///< Children with KV in the GPU's pool.
  NodeState state;                   ///< In the GPU's pool of states ...
  NodeState host_state;              ///< ... and in the host's.
};

/// Slots of recurrent states, some of them in the tree's nodes. A state is used where a beginning
/// ends with it, or (not `apart`) on the way to where one ends.
class StateSlots {
 public:
  explicit StateSlots(NodeState TreeNode::* at) : at_(at) {}
  /// `most`: on the way to one node; below 0: any number.
  void attach(std::int64_t slots, bool apart, std::int64_t most) {
    free_ = slots;
    is_on_ = true;
    apart_ = apart;
    most_on_path_ = most;
  }
  [[nodiscard]] std::int64_t most_on_path() const { return most_on_path_; }
  [[nodiscard]] bool is_on() const { return is_on_; }
  [[nodiscard]] bool apart() const { return apart_; }
  [[nodiscard]] std::int64_t free() const { return free_; }
  [[nodiscard]] std::int64_t evictable() const { return std::ssize(unused_); }
  [[nodiscard]] std::int64_t protected_size() const { return kept_ - std::ssize(unused_); }

  /// A free slot is taken, or given back.
  void take() {
    RIDGELINE_CHECK(free_ > 0, "a state has a slot");
    --free_;
  }
  void give() { ++free_; }
  /// A free slot, which the state used least recently gives up where there is none; or none.
  [[nodiscard]] bool make_room() {
    if (free_ == 0 && !unused_.empty()) {
      drop(oldest());
    }
    return free_ > 0;
  }
  /// A node keeps the state in a slot that is taken; one that it has already stays.
  void keep(TreeNode& node);
  void drop(TreeNode& node);
  void use(TreeNode& node);
  /// A request goes on from it, or no longer.
  void lock(TreeNode& node);
  void unlock(TreeNode& node);
  /// The node whose state was used least recently. Requires an evictable state.
  [[nodiscard]] TreeNode& oldest() const { return *unused_.begin()->second; }

 private:
  using Entry = std::pair<std::int64_t, TreeNode*>;
  [[nodiscard]] static bool is_unused(const NodeState& state) {
    return state.is_kept && state.locks == 0;
  }

  NodeState TreeNode::* at_;
  std::set<Entry> unused_;  ///< By when a state was used last: no two are at once.
  bool is_on_ = false;
  bool apart_ = false;
  std::int64_t most_on_path_ = -1;
  std::int64_t free_ = 0;
  std::int64_t kept_ = 0;  ///< In the tree.
  std::int64_t clock_ = 0;
};

}  // namespace ridgeline::engine::sglang
