#include "engine/sglang/radix_cache.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/check.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/tokens.hpp"

namespace ridgeline::engine::sglang {
namespace {

/// Murmur3's 64-bit finaliser (Appleby 2011), a bijection.
std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

/// 2^64 / golden ratio: keeps numbers apart that are small or zero.
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// A hash with a number behind it. Salts, contents and lengths are small and near each other: the
/// multiplier of Knuth's MMIX generator (The Art of Computer Programming, volume 2, section 3.3.4)
/// tells what came before from what is added.
std::uint64_t chained(std::uint64_t hash, std::uint64_t number) {
  constexpr std::uint64_t kMultiplier = 6364136223846793005ULL;
  return mix(mix(hash + kGolden) * kMultiplier + number);
}

std::uint64_t child_key(const TreeNode& parent, std::uint64_t page) {
  return mix(page + mix(parent.id + kGolden));
}

/// Leaves met that often are kept longer (SLRUStrategy).
constexpr std::int64_t kProtectedHits = 2;

}  // namespace

RadixCache::RadixCache(std::int64_t page_size, EvictionPolicy policy)
    : page_size_(page_size), policy_(policy) {
  root_.lock_ref = 1;
}

RadixCache::Order RadixCache::order_of(const TreeNode& node) const {
  switch (policy_) {
    case EvictionPolicy::kLru:
      return {0, node.last_access, node.id};
    case EvictionPolicy::kLfu:
      return {node.hits, node.last_access, node.id};
    case EvictionPolicy::kFifo:
      return {0, node.creation, node.id};
    case EvictionPolicy::kMru:
      return {0, -node.last_access, node.id};
    case EvictionPolicy::kFilo:
      return {0, -node.creation, node.id};
    case EvictionPolicy::kSlru:
      return {node.hits >= kProtectedHits ? 1 : 0, node.last_access, node.id};
    case EvictionPolicy::kPriority:
      return {node.priority, node.last_access, node.id};
  }
  RIDGELINE_CHECK(false, "an eviction policy without an order");
}

void RadixCache::list(TreeNode& node) {
  if (is_candidate(node)) {
    leaves_.insert({.order = order_of(node), .node = &node});
  }
}

void RadixCache::unlist(TreeNode& node) {
  if (is_candidate(node)) {
    leaves_.erase({.order = order_of(node), .node = &node});
  }
}

void RadixCache::touch(TreeNode& node, std::int64_t now) {
  unlist(node);
  node.last_access = now;
  list(node);
}

/// Hash of the page that begins at `at`; a whole one is left there.
std::uint64_t RadixCache::page_hash(TokenCursor at, std::uint64_t salt) const {
  std::uint64_t hash = salt;
  for (std::int64_t left = page_size_; left > 0;) {
    const Piece piece = at.piece();
    const std::int64_t length = std::min(piece.length, left);
    hash = chained(hash, piece.content);
    hash = chained(hash, static_cast<std::uint64_t>(piece.offset));
    hash = chained(hash, static_cast<std::uint64_t>(length));
    at.skip(length);
    left -= length;
  }
  return hash;
}

TreeNode* RadixCache::child(const TreeNode& node, std::uint64_t page) const {
  const auto found = children_.find(child_key(node, page));
  return found == children_.end() ? nullptr : found->second;
}

/// Tokens that a node's key and what follows a place have in common, in whole pages.
std::int64_t RadixCache::common(const TreeNode& node, TokenCursor at) const {
  TokenCursor own(node.key, node.key.length());
  std::int64_t length = 0;
  while (own.left() > 0 && at.left() > 0) {
    const Piece a = own.piece();
    const Piece b = at.piece();
    if (a.content != b.content || a.offset != b.offset) {
      break;
    }
    const std::int64_t run = std::min(a.length, b.length);
    own.skip(run);
    at.skip(run);
    length += run;
  }
  return length / page_size_ * page_size_;
}

TreeNode* RadixCache::make_node() {
  if (spare_.empty()) {
    spare_.push_back(&nodes_.emplace_back());
  }
  TreeNode* const node = spare_.back();
  spare_.pop_back();
  *node = TreeNode();
  node->id = ++num_made_;
  node->creation = clock_;
  node->last_access = clock_;
  return node;
}

void RadixCache::append_child(TreeNode& parent, TreeNode& node) {
  node.parent = &parent;
  node.previous = parent.last_child;
  (parent.last_child == nullptr ? parent.first_child : parent.last_child->next) = &node;
  parent.last_child = &node;
  children_.emplace(child_key(parent, node.page), &node);
}

/// Cuts a node behind its first `length` tokens: the upper part takes its place and is returned.
TreeNode* RadixCache::split(TreeNode& node, std::int64_t length) {
  TreeNode* const upper = make_node();
  TreeNode& parent = *node.parent;
  unlist(node);
  upper->page = node.page;
  upper->parent = &parent;
  upper->previous = node.previous;
  upper->next = node.next;
  (node.previous == nullptr ? parent.first_child : node.previous->next) = upper;
  (node.next == nullptr ? parent.last_child : node.next->previous) = upper;
  children_[child_key(parent, node.page)] = upper;
  upper->key = node.key.part(0, length);
  upper->lock_ref = node.lock_ref;
  upper->hits = node.hits;
  upper->priority = node.priority;
  node.key = node.key.part(length, node.key.length());
  node.page = page_hash(TokenCursor(node.key, node.key.length()), 0);
  node.previous = nullptr;
  node.next = nullptr;
  append_child(*upper, node);
  list(node);
  return upper;
}

RadixCache::Match RadixCache::match(const Tokens& tokens, std::int64_t end, std::uint64_t salt) {
  const std::int64_t now = ++clock_;
  Match match{.length = 0, .node = &root_};
  TokenCursor at(tokens, end / page_size_ * page_size_);
  while (at.left() > 0) {
    const bool at_root = match.node == &root_;
    TreeNode* const next = child(*match.node, page_hash(at, at_root ? salt : 0));
    if (next == nullptr) {
      break;
    }
    touch(*next, now);
    const std::int64_t length = common(*next, at);
    RIDGELINE_CHECK(length > 0, "two pages of one hash are equal");
    at.skip(length);
    match.length += length;
    if (length < next->key.length()) {
      match.node = split(*next, length);
      break;
    }
    match.node = next;
  }
  return match;
}

std::int64_t RadixCache::find(const Tokens& tokens, std::int64_t end, std::uint64_t salt) const {
  const TreeNode* node = &root_;
  std::int64_t found = 0;
  TokenCursor at(tokens, end / page_size_ * page_size_);
  while (at.left() > 0) {
    const TreeNode* const next = child(*node, page_hash(at, node == &root_ ? salt : 0));
    if (next == nullptr) {
      break;
    }
    const std::int64_t length = common(*next, at);
    at.skip(length);
    found += length;
    if (length < next->key.length()) {
      break;
    }
    node = next;
  }
  return found;
}

std::int64_t RadixCache::insert(const Tokens& tokens, std::int64_t end, const Insert& insert) {
  const std::int64_t now = ++clock_;
  TreeNode* node = &root_;
  std::int64_t known = 0;
  TokenCursor at(tokens, end);
  std::int64_t through = 0;
  // Up to where a node may go that begins here.
  const auto most = [&] { return through < insert.cut ? std::min(insert.cut, end) : end; };
  const auto priority = [&] { return insert.priority + (through <= insert.cut ? 1 : 0); };
  while (at.left() > 0) {
    const std::uint64_t page = page_hash(at, node == &root_ ? insert.salt : 0);
    TreeNode* const next = child(*node, page);
    std::int64_t length = most() - through;
    if (next == nullptr) {
      TreeNode* const fresh = make_node();
      fresh->page = page;
      fresh->priority = insert.priority;
      fresh->key = tokens.part(through, through + length);
      unlist(*node);
      append_child(*node, *fresh);
      evictable_ += length;
      node = fresh;
    } else {
      touch(*next, now);
      length = std::min(common(*next, at), length);
      RIDGELINE_CHECK(length > 0, "two pages of one hash are equal");
      known += length;
      node = length < next->key.length() ? split(*next, length) : next;
      unlist(*node);
    }
    at.skip(length);
    through += length;
    node->priority = std::max(node->priority, priority());
    node->hits += insert.is_chunk ? 0 : 1;
    list(*node);
  }
  return known;
}

void RadixCache::lock(TreeNode* node) {
  for (; node != &root_; node = node->parent) {
    if (node->lock_ref == 0) {
      unlist(*node);
      evictable_ -= node->key.length();
      protected_ += node->key.length();
    }
    ++node->lock_ref;
  }
}

void RadixCache::unlock(TreeNode* node) {
  for (; node != &root_; node = node->parent) {
    RIDGELINE_CHECK(node->lock_ref > 0, "a lock is given back once");
    if (--node->lock_ref == 0) {
      evictable_ += node->key.length();
      protected_ -= node->key.length();
      list(*node);
    }
  }
}

void RadixCache::remove_leaf(TreeNode& node) {
  TreeNode& parent = *node.parent;
  unlist(node);
  children_.erase(child_key(parent, node.page));
  (node.previous == nullptr ? parent.first_child : node.previous->next) = node.next;
  (node.next == nullptr ? parent.last_child : node.next->previous) = node.previous;
  spare_.push_back(&node);
  node.key = Tokens();
  list(parent);
}

std::int64_t RadixCache::evict(std::int64_t tokens) {
  std::int64_t evicted = 0;
  while (evicted < tokens && !leaves_.empty()) {
    TreeNode& node = *leaves_.begin()->node;
    evicted += node.key.length();
    remove_leaf(node);
  }
  evictable_ -= evicted;
  return evicted;
}

void RadixCache::reset() {
  RIDGELINE_CHECK(protected_ == 0, "a tree in use is not forgotten");
  static_cast<void>(evict(evictable_));
}

std::int64_t RadixCache::counted() const {
  std::int64_t tokens = 0;
  for (const TreeNode& node : nodes_) {
    tokens += node.key.length();
  }
  return tokens;
}

}  // namespace ridgeline::engine::sglang
