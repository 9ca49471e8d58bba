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

Missing missing_of(TreeNode& node) {
  Missing missing{.from = &node, .state = node.host_state.is_kept && !node.state.is_kept};
  for (; !missing.from->on_device; missing.from = missing.from->parent) {
    missing.tokens += missing.from->key.length();
  }
  return missing;
}

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
  } else if (is_host_leaf(node)) {
    host_leaves_.insert({.order = {0, node.last_access, node.id}, .node = &node});
  }
}

void RadixCache::unlist(TreeNode& node) {
  if (is_candidate(node)) {
    leaves_.erase({.order = order_of(node), .node = &node});
  } else if (is_host_leaf(node)) {
    host_leaves_.erase({.order = {0, node.last_access, node.id}, .node = &node});
  }
}

void RadixCache::touch(TreeNode& node, std::int64_t now) {
  unlist(node);
  node.last_access = now;
  list(node);
  if (!states_.apart()) {
    states_.use(node);
  }
}

std::int64_t RadixCache::evict_state() {
  TreeNode& node = states_.oldest();
  if (node.device_children > 0) {
    states_.drop(node);
    return 0;
  }
  const std::int64_t evicted = shed(&node);
  evictable_ -= evicted;
  return evicted;
}

/// Where the path to a node has more states than it may, the first go: those of no fork, no leaf
/// and no request (mamba_max_states_per_path).
void RadixCache::bound_states(TreeNode& last) {
  std::vector<TreeNode*> holders;
  for (TreeNode* node = &last; node != &root_; node = node->parent) {
    if (node->state.is_kept) {
      holders.push_back(node);
    }
  }
  std::int64_t excess =
      states_.most_on_path() < 0 ? 0 : std::ssize(holders) - states_.most_on_path();
  for (auto at = holders.rbegin(); at != holders.rend() && excess > 0 && *at != &last; ++at) {
    TreeNode& node = **at;
    const bool has_one_child = node.first_child != nullptr && node.first_child == node.last_child;
    if (node.state.locks == 0 && has_one_child) {
      states_.drop(node);
      --excess;
    }
  }
}

/// A node without children in the GPU's pool leaves it with its state, and so does what it leaves
/// there without children and state: to the host's, where it is or is copied as it leaves. Returns
/// the tokens.
std::int64_t RadixCache::shed(TreeNode* node) {
  std::int64_t tokens = 0;
  do {
    TreeNode* const parent = node->parent;
    const std::int64_t length = node->key.length();
    tokens += length;
    if (!node->on_host && host_.on_eviction && reserve_host(length)) {
      moved_ += length;
      put_on_host(*node);
    }
    states_.drop(*node);
    if (node->on_host) {
      leave_device(*node);
    } else {
      remove_subtree(*node);
    }
    node = parent;
  } while (states_.is_on() && !states_.apart() && node != &root_ && node->on_device &&
           node->device_children == 0 && node->lock_ref == 0 && !node->state.is_kept);
  return tokens;
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
  parent.device_children += node.on_device ? 1 : 0;
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
  upper->on_device = node.on_device;
  upper->on_host = node.on_host;
  node.key = node.key.part(length, node.key.length());
  node.page = page_hash(TokenCursor(node.key, node.key.length()), 0);
  node.previous = nullptr;
  node.next = nullptr;
  append_child(*upper, node);
  list(node);
  return upper;
}

/// As match(), up to the deepest state; what is behind it is not accessed.
RadixCache::Match RadixCache::match_states(const Tokens& tokens,
                                           std::int64_t end,
                                           std::uint64_t salt) {
  std::vector<TreeNode*> path;
  std::int64_t kv_length = 0;
  TreeNode* node = &root_;
  TokenCursor at(tokens, end / page_size_ * page_size_);
  while (at.left() > 0) {
    TreeNode* const next = child(*node, page_hash(at, node == &root_ ? salt : 0));
    if (next == nullptr) {
      break;
    }
    const std::int64_t length = common(*next, at);
    RIDGELINE_CHECK(length > 0, "two pages of one hash are equal");
    at.skip(length);
    kv_length += length;
    if (length < next->key.length()) {
      touch(*split(*next, length), ++clock_);
      touch(*next, ++clock_);
      break;
    }
    node = next;
    path.push_back(node);
  }
  while (!path.empty() && !path.back()->state.is_kept && !path.back()->host_state.is_kept) {
    path.pop_back();
  }
  Match match{.length = 0, .node = &root_, .kv_length = kv_length};
  std::int64_t behind = 0;  // The last state in the GPU's pool.
  for (TreeNode* const found : path) {
    behind += found->key.length();
    if (found->on_device && found->state.is_kept) {
      match.length += std::exchange(behind, 0);
      match.node = found;
    }
    touch(*found, ++clock_);
  }
  if (behind > 0) {
    match.host_length = behind;
    match.host_node = path.back();
    host_states_.use(*match.host_node);
  }
  if (match.node != &root_ && states_.apart()) {
    states_.use(*match.node);
  }
  return match;
}

RadixCache::Match RadixCache::match(const Tokens& tokens, std::int64_t end, std::uint64_t salt) {
  if (states_.is_on()) {
    return match_states(tokens, end, salt);
  }
  const std::int64_t now = ++clock_;
  Match match{.length = 0, .node = &root_};
  TreeNode* node = &root_;
  TokenCursor at(tokens, end / page_size_ * page_size_);
  while (at.left() > 0) {
    TreeNode* const next = child(*node, page_hash(at, node == &root_ ? salt : 0));
    if (next == nullptr) {
      break;
    }
    touch(*next, now);
    const std::int64_t length = common(*next, at);
    RIDGELINE_CHECK(length > 0, "two pages of one hash are equal");
    at.skip(length);
    const bool is_cut = length < next->key.length();
    node = is_cut ? split(*next, length) : next;
    if (node->on_device) {
      match.length += length;
      match.node = node;
    } else {
      match.host_length += length;
      match.host_node = node;
    }
    if (is_cut) {
      break;
    }
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
  TreeNode* wanted = nullptr;  // The last that is to be on the host.
  // Up to where a node may go that begins here.
  const auto most = [&] { return through < insert.cut ? std::min(insert.cut, end) : end; };
  const auto priority = [&] { return insert.priority + (through <= insert.cut ? 1 : 0); };
  while (at.left() > 0) {
    const std::uint64_t page = page_hash(at, node == &root_ ? insert.salt : 0);
    TreeNode* const next = child(*node, page);
    std::int64_t length = most() - through;
    if (next == nullptr) {
      clock_ += states_.is_on() ? 1 : 0;
      TreeNode* const fresh = make_node();
      fresh->page = page;
      fresh->priority = insert.priority;
      fresh->key = tokens.part(through, through + length);
      unlist(*node);
      append_child(*node, *fresh);
      evictable_ += length;
      node = fresh;
    } else {
      touch(*next, states_.is_on() ? ++clock_ : now);
      length = std::min(common(*next, at), length);
      RIDGELINE_CHECK(length > 0, "two pages of one hash are equal");
      node = length < next->key.length() ? split(*next, length) : next;
      known += node->on_device ? length : 0;
      unlist(*node);
      put_on_device(*node);
    }
    at.skip(length);
    through += length;
    node->priority = std::max(node->priority, priority());
    if (host_.is_on ? through > insert.counted : !insert.is_chunk) {
      ++node->hits;
      wanted = node->hits >= host_.hits_to_write && !host_.on_eviction ? node : wanted;
    }
    list(*node);
  }
  if (insert.has_state && node == &root_) {
    states_.give();
  } else if (insert.has_state) {
    states_.keep(*node);
    bound_states(*node);
  }
  if (wanted != nullptr && host_.is_on) {
    back_up(wanted);
  }
  return known;
}

void RadixCache::lock(TreeNode* node) {
  states_.lock(*node);
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
  states_.unlock(*node);
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
  unlist(parent);
  parent.device_children -= node.on_device ? 1 : 0;
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
    evicted += shed(leaves_.begin()->node);
  }
  evictable_ -= evicted;
  return evicted;
}

void RadixCache::remove_subtree(TreeNode& node) {
  while (node.first_child != nullptr) {  // They are on the host alone.
    remove_subtree(*node.first_child);
  }
  host_.free += node.on_host ? node.key.length() : 0;
  host_states_.drop(node);
  remove_leaf(node);
}

/// A node that only the host's pool holds is in the GPU's too.
void RadixCache::put_on_device(TreeNode& node) {
  if (node.on_device) {
    return;
  }
  unlist(*node.parent);
  node.on_device = true;
  ++node.parent->device_children;
  evictable_ += node.key.length();
}

/// The host's pool alone holds a node from now on.
void RadixCache::leave_device(TreeNode& node) {
  unlist(node);
  node.on_device = false;
  list(node);
  --node.parent->device_children;
  list(*node.parent);
}

/// Copies the path to a node to the host, its beginning first, as far as there is room.
void RadixCache::back_up(TreeNode* node) {
  std::vector<TreeNode*> path;
  for (; node != &root_; node = node->parent) {
    if (!node->on_host || (node->state.is_kept && !node->host_state.is_kept)) {
      path.push_back(node);
    }
  }
  for (; !path.empty(); path.pop_back()) {
    TreeNode& next = *path.back();
    const std::int64_t tokens = next.on_host ? 0 : next.key.length();
    if (!reserve_host(tokens)) {
      return;
    }
    put_on_host(next);
    lock(&next);
    writes_.push_back({.node = &next, .tokens = tokens});
  }
}

/// The host's pool, which has room for it, holds a node as well; and its state, if a slot is free
/// or can be made so.
void RadixCache::put_on_host(TreeNode& node) {
  host_.free -= node.on_host ? 0 : node.key.length();
  node.on_host = true;
  if (node.state.is_kept && !node.host_state.is_kept && host_states_.make_room()) {
    host_states_.take();
    host_states_.keep(node);
  }
}

/// Whether so many tokens of the host's pool are free, or could be made so.
bool RadixCache::reserve_host(std::int64_t tokens) {
  while (host_.free < tokens && !host_leaves_.empty()) {
    remove_subtree(*host_leaves_.begin()->node);
  }
  return host_.free >= tokens;
}

void RadixCache::pin(TreeNode& node, bool is_pinned) {
  unlist(node);
  node.is_pinned = is_pinned;
  is_pinned ? host_states_.lock(node) : host_states_.unlock(node);
  list(node);
}

void RadixCache::load(TreeNode* node) {
  std::vector<TreeNode*> path;
  pin(*node, false);
  if (states_.is_on() && !node->state.is_kept) {
    states_.take();
    states_.keep(*node);
  }
  for (; !node->on_device; node = node->parent) {
    path.push_back(node);
  }
  for (; !path.empty(); path.pop_back()) {
    unlist(*path.back());
    put_on_device(*path.back());
    list(*path.back());
  }
}

void RadixCache::reset() {
  RIDGELINE_CHECK(protected_ == 0, "a tree in use is not forgotten");
  static_cast<void>(evict(evictable_));
}

std::int64_t RadixCache::counted() const {
  std::int64_t tokens = 0;
  for (const TreeNode& node : nodes_) {
    tokens += node.on_device ? node.key.length() : 0;
  }
  return tokens;
}

}  // namespace ridgeline::engine::sglang
