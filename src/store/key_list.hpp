#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <unordered_map>

#include "core/check.hpp"
#include "store/eviction.hpp"

namespace ridgeline::store {

/// Keys in the order of their last use, each once. Every call but oldest() takes constant time.
class KeyList {
 public:
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(order_.size()); }
  [[nodiscard]] bool contains(BlockKey key) const { return places_.contains(key); }

  /// As the one used last.
  void add(BlockKey key) {
    const bool is_new = places_.emplace(key, order_.insert(order_.end(), key)).second;
    RIDGELINE_CHECK(is_new, "a list of keys has each once");
  }
  /// False where it is not in the list.
  bool remove(BlockKey key) {
    const auto place = places_.find(key);
    if (place == places_.end()) {
      return false;
    }
    order_.erase(place->second);
    places_.erase(place);
    return true;
  }
  /// False where it is not in the list.
  bool touch(BlockKey key) {
    const auto place = places_.find(key);
    if (place == places_.end()) {
      return false;
    }
    order_.splice(order_.end(), order_, place->second);
    return true;
  }
  /// The key that was not used for longest, of those that may go.
  [[nodiscard]] std::optional<BlockKey> oldest(const Eviction::MayGo& may_go) const {
    for (const BlockKey key : order_) {
      if (may_go(key)) {
        return key;
      }
    }
    return std::nullopt;
  }
  /// Of a list that is not empty.
  void remove_oldest() { remove(order_.front()); }

 private:
  std::list<BlockKey> order_;  ///< The oldest first.
  std::unordered_map<BlockKey, std::list<BlockKey>::iterator> places_;
};

}  // namespace ridgeline::store
