#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/state_slots.hpp"
#include "engine/sglang/tokens.hpp"

namespace ridgeline::engine::sglang {

/// A pool of KV in the host's memory, behind the GPU's (HiCache).
struct HostPool {
  bool is_on = false;
  std::int64_t free = 0;
  std::int64_t states = 0;         ///< Slots of recurrent states.
  std::int64_t hits_to_write = 1;  ///< Inserts after which a node is copied there.
  bool on_eviction = false;        ///< Nodes are copied as they leave the GPU's pool, not before.
};

/// What the GPU's pools lack of a beginning that the host has: the last node with KV there, the
/// tokens behind it, and whether the state is missing.
struct Missing {
  TreeNode* from = nullptr;
  std::int64_t tokens = 0;
  bool state = false;
};
[[nodiscard]] Missing missing_of(TreeNode& node);

/// SGLang's radix tree of cached KV (mem_cache/radix_cache.py), which counts tokens and holds none.
/// All lengths are whole pages.
class RadixCache {
 public:
  RadixCache(std::int64_t page_size, EvictionPolicy policy);

  /// The longest cached beginning of tokens, and the node at which it ends (the root where there is
  /// none): in the GPU's pool, and how much more of it in the host's.
  struct Match {
    std::int64_t length = 0;
    TreeNode* node = nullptr;
    std::int64_t host_length = 0;
    TreeNode* host_node = nullptr;  ///< Where that ends.
    /// With states: what has KV, be there a state behind it or not.
    std::int64_t kv_length = 0;
  };
  /// Matches the first `end` tokens. Splits the node in which the match ends, and counts as an
  /// access to all of the path. `salt` keeps trees apart (an adapter's).
  Match match(const Tokens& tokens, std::int64_t end, std::uint64_t salt);
  /// The length alone; changes nothing.
  [[nodiscard]] std::int64_t find(const Tokens& tokens, std::int64_t end, std::uint64_t salt) const;
  /// Enters the first `end` tokens (whole pages). Returns how many of them were in the GPU's pool
  /// already.
  struct Insert {
    std::uint64_t salt = 0;
    std::int32_t priority = 0;
    bool is_chunk = false;     ///< Does not count as a hit, but where there is a host's pool.
    std::int64_t counted = 0;  ///< Beside that, tokens whose nodes the request has hit before.
    /// Where a node ends in any case, in whole pages: what is before it ranks one priority higher.
    /// 0: nowhere.
    std::int64_t cut = 0;
    bool has_state = false;  ///< With the recurrent state at their end, in a slot that is taken.
  };
  std::int64_t insert(const Tokens& tokens, std::int64_t end, const Insert& insert);

  /// A request uses the path to a node, or no longer.
  void lock(TreeNode* node);
  void unlock(TreeNode* node);
  /// Evicts whole unlocked leaves until so many tokens are free, or none is left. Returns how many
  /// it evicted.
  std::int64_t evict(std::int64_t tokens);
  /// From now on there is a host's pool.
  void attach(const HostPool& host) {
    host_ = host;
    host_.is_on = true;
    host_states_.attach(host.states, true, -1);
  }
  [[nodiscard]] std::int64_t host_free() const { return host_.free; }
  /// Copies to the host that are to be started. Their nodes are locked until they have ended.
  struct Write {
    TreeNode* node = nullptr;
    std::int64_t tokens = 0;
  };
  [[nodiscard]] std::vector<Write> take_writes() { return std::exchange(writes_, {}); }
  /// Tokens that evictions have copied there since the last call.
  [[nodiscard]] std::int64_t take_moved() { return std::exchange(moved_, 0); }
  /// Slots of recurrent states: from StateSlots::attach() on, beginnings are found up to a state
  /// alone.
  [[nodiscard]] StateSlots& states() { return states_; }
  [[nodiscard]] const StateSlots& states() const { return states_; }
  /// The state used least recently goes, and with it a node that has no children. Returns its
  /// tokens. Requires an evictable state.
  std::int64_t evict_state();
  /// Nodes of the host's pool alone come back into the GPU's, down to one that is matched; with
  /// the state there, for which a slot is taken.
  void load(TreeNode* node);
  /// Until then it stays on the host.
  void pin(TreeNode& node, bool is_pinned = true);
  /// Forgets everything. Requires that nothing is locked.
  void reset();

  [[nodiscard]] TreeNode* root() { return &root_; }
  [[nodiscard]] std::int64_t evictable() const { return evictable_; }
  [[nodiscard]] std::int64_t protected_size() const { return protected_; }
  /// All that the tree holds, counted node by node: for checks.
  [[nodiscard]] std::int64_t counted() const;

 private:
  /// Which leaf goes first: the least of (rank, time, id).
  using Order = std::tuple<std::int64_t, std::int64_t, std::uint64_t>;
  struct Entry {
    Order order;
    TreeNode* node;
    friend bool operator<(const Entry& a, const Entry& b) { return a.order < b.order; }
  };

  [[nodiscard]] Order order_of(const TreeNode& node) const;
  [[nodiscard]] bool is_candidate(const TreeNode& node) const {
    return node.parent != nullptr && node.on_device && node.device_children == 0 &&
           node.lock_ref == 0;
  }
  [[nodiscard]] static bool is_host_leaf(const TreeNode& node) {
    return node.on_host && !node.on_device && node.first_child == nullptr && !node.is_pinned;
  }
  void list(TreeNode& node);
  void unlist(TreeNode& node);
  void touch(TreeNode& node, std::int64_t now);
  std::int64_t shed(TreeNode* node);
  void put_on_host(TreeNode& node);
  void bound_states(TreeNode& last);
  Match match_states(const Tokens& tokens, std::int64_t end, std::uint64_t salt);
  [[nodiscard]] std::uint64_t page_hash(TokenCursor at, std::uint64_t salt) const;
  [[nodiscard]] TreeNode* child(const TreeNode& node, std::uint64_t page) const;
  [[nodiscard]] std::int64_t common(const TreeNode& node, TokenCursor at) const;
  TreeNode* split(TreeNode& node, std::int64_t length);
  TreeNode* make_node();
  void append_child(TreeNode& parent, TreeNode& node);
  void remove_leaf(TreeNode& node);
  void remove_subtree(TreeNode& node);
  void put_on_device(TreeNode& node);
  void leave_device(TreeNode& node);
  void back_up(TreeNode* node);
  bool reserve_host(std::int64_t tokens);

  std::int64_t page_size_;
  EvictionPolicy policy_;
  TreeNode root_;
  std::deque<TreeNode> nodes_;
  std::vector<TreeNode*> spare_;
  /// Children by (parent, first page): looked up only, never walked.
  std::unordered_map<std::uint64_t, TreeNode*> children_;
  std::set<Entry> leaves_;  ///< Unlocked leaves, the next to go first.
  std::set<Entry> host_leaves_;
  HostPool host_;
  std::int64_t moved_ = 0;
  std::vector<Write> writes_;
  StateSlots states_{&TreeNode::state};
  StateSlots host_states_{&TreeNode::host_state};
  std::int64_t clock_ = 0;
  std::uint64_t num_made_ = 0;
  std::int64_t evictable_ = 0;
  std::int64_t protected_ = 0;
};

}  // namespace ridgeline::engine::sglang
