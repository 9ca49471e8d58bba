#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "engine/sglang/options.hpp"
#include "engine/sglang/tokens.hpp"

namespace ridgeline::engine::sglang {

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
};

/// SGLang's radix tree of cached KV (mem_cache/radix_cache.py), which counts tokens and holds none.
/// All lengths are whole pages.
class RadixCache {
 public:
  RadixCache(std::int64_t page_size, EvictionPolicy policy);

  /// The longest cached beginning of tokens, and the node at which it ends (the root where there is
  /// none).
  struct Match {
    std::int64_t length = 0;
    TreeNode* node = nullptr;
  };
  /// Matches the first `end` tokens. Splits the node in which the match ends, and counts as an
  /// access to all of the path. `salt` keeps trees apart (an adapter's).
  Match match(const Tokens& tokens, std::int64_t end, std::uint64_t salt);
  /// The length alone; changes nothing.
  [[nodiscard]] std::int64_t find(const Tokens& tokens, std::int64_t end, std::uint64_t salt) const;
  /// Enters the first `end` tokens (whole pages). Returns how many of them were there already.
  struct Insert {
    std::uint64_t salt = 0;
    std::int32_t priority = 0;
    bool is_chunk = false;  ///< Does not count as a hit.
    /// Where a node ends in any case, in whole pages: what is before it ranks one priority higher.
    /// 0: nowhere.
    std::int64_t cut = 0;
  };
  std::int64_t insert(const Tokens& tokens, std::int64_t end, const Insert& insert);

  /// A request uses the path to a node, or no longer.
  void lock(TreeNode* node);
  void unlock(TreeNode* node);
  /// Evicts whole unlocked leaves until so many tokens are free, or none is left. Returns how many
  /// it evicted.
  std::int64_t evict(std::int64_t tokens);
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
    return node.parent != nullptr && node.first_child == nullptr && node.lock_ref == 0;
  }
  void list(TreeNode& node);
  void unlist(TreeNode& node);
  void touch(TreeNode& node, std::int64_t now);
  [[nodiscard]] std::uint64_t page_hash(TokenCursor at, std::uint64_t salt) const;
  [[nodiscard]] TreeNode* child(const TreeNode& node, std::uint64_t page) const;
  [[nodiscard]] std::int64_t common(const TreeNode& node, TokenCursor at) const;
  TreeNode* split(TreeNode& node, std::int64_t length);
  TreeNode* make_node();
  void append_child(TreeNode& parent, TreeNode& node);
  void remove_leaf(TreeNode& node);

  std::int64_t page_size_;
  EvictionPolicy policy_;
  TreeNode root_;
  std::deque<TreeNode> nodes_;
  std::vector<TreeNode*> spare_;
  /// Children by (parent, first page): looked up only, never walked.
  std::unordered_map<std::uint64_t, TreeNode*> children_;
  std::set<Entry> leaves_;  ///< Unlocked leaves, the next to go first.
  std::int64_t clock_ = 0;
  std::uint64_t num_made_ = 0;
  std::int64_t evictable_ = 0;
  std::int64_t protected_ = 0;
};

}  // namespace ridgeline::engine::sglang
