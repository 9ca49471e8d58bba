#pragma once

#include <cstdint>
#include <optional>

#include "cluster/store/eviction.hpp"
#include "core/check.hpp"
#include "core/key_map.hpp"

namespace ridgeline::store {

/// Keys in the order of their last use, each once. Every call but oldest() takes constant time.
class KeyList {
 public:
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(nodes_.size()); }
  [[nodiscard]] bool contains(BlockKey key) const { return nodes_.contains(key); }

  /// As the one used last.
  void add(BlockKey key) {
    const std::int64_t before = size();
    const Place at = nodes_.add(key);
    RIDGELINE_CHECK(size() > before, "a list of keys has each once");
    nodes_.at(at).key = key;
    append(at);
  }
  /// False where it is not in the list.
  bool remove(BlockKey key) {
    const Place at = nodes_.place(key);
    if (at == kNowhere) {
      return false;
    }
    unlink(at);
    nodes_.erase(key);
    return true;
  }
  /// False where it is not in the list.
  bool touch(BlockKey key) {
    const Place at = nodes_.place(key);
    if (at == kNowhere) {
      return false;
    }
    unlink(at);
    append(at);
    return true;
  }
  /// The key that was not used for longest, of those that may go.
  [[nodiscard]] std::optional<BlockKey> oldest(const Eviction::MayGo& may_go) const {
    for (Place at = oldest_; at != kNowhere; at = nodes_.at(at).next) {
      if (may_go(nodes_.at(at).key)) {
        return nodes_.at(at).key;
      }
    }
    return std::nullopt;
  }
  /// Requires a list that is not empty.
  void remove_oldest() { remove(nodes_.at(oldest_).key); }

 private:
  using Place = core::KeyMap<std::uint32_t>::Place;
  static constexpr Place kNowhere = core::KeyMap<std::uint32_t>::kNowhere;
  struct Node {
    BlockKey key = 0;
    Place before = kNowhere;
    Place next = kNowhere;
  };

  void append(Place at) {
    nodes_.at(at).before = newest_;
    nodes_.at(at).next = kNowhere;
    (newest_ == kNowhere ? oldest_ : nodes_.at(newest_).next) = at;
    newest_ = at;
  }
  void unlink(Place at) {
    const Node& node = nodes_.at(at);
    (node.before == kNowhere ? oldest_ : nodes_.at(node.before).next) = node.next;
    (node.next == kNowhere ? newest_ : nodes_.at(node.next).before) = node.before;
  }

  core::KeyMap<Node> nodes_;
  Place oldest_ = kNowhere;
  Place newest_ = kNowhere;
};

}  // namespace ridgeline::store
