#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ridgeline::core {

/// Values by key: a small table of keys, and the values beside it, where each keeps its place while
/// it is there. A look-up is one place in memory, mostly, where a map of the standard library
/// follows pointers. Keys are hashes already, and are taken as they are. Those that came one after
/// the other have neighbouring places, so that a prompt's keys, asked for in their order or the
/// other way round, are found beside each other.
template <class Value>
class KeyMap {
 public:
  using Place = std::uint32_t;
  static constexpr Place kNowhere = std::numeric_limits<Place>::max();

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Where the value of a key is; kNowhere where there is none.
  [[nodiscard]] Place place(std::uint64_t key) const {
    for (const Place near : {last_ - 1, last_ + 1, last_}) {
      if (near < keys_.size() && keys_[near].key == key && keys_[near].place == near) {
        last_ = near;
        return near;
      }
    }
    const Place found = slots_.empty() ? kNowhere : slots_[slot_of(key)].place;
    last_ = found == kNowhere ? last_ : found;
    return found;
  }
  [[nodiscard]] bool contains(std::uint64_t key) const { return place(key) != kNowhere; }
  [[nodiscard]] Value& at(Place place) { return values_[place]; }
  [[nodiscard]] const Value& at(Place place) const { return values_[place]; }

  /// The value of a key; null where there is none. Holds until a key is added.
  [[nodiscard]] Value* find(std::uint64_t key) {
    const Place found = place(key);
    return found == kNowhere ? nullptr : &values_[found];
  }
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    const Place found = place(key);
    return found == kNowhere ? nullptr : &values_[found];
  }

  /// Where the value of a key is, made new where there is none.
  Place add(std::uint64_t key) {
    if ((size_ + 1) * 2 > slots_.size()) {
      grow();
    }
    Slot& slot = slots_[slot_of(key)];
    if (slot.place == kNowhere) {
      slot.key = key;
      slot.place = new_place();
      keys_[slot.place] = slot;
      ++size_;
    }
    return slot.place;
  }
  Value& operator[](std::uint64_t key) { return values_[add(key)]; }

  /// Takes a key out that is there.
  void erase(std::uint64_t key) {
    std::size_t hole = slot_of(key);
    free_.push_back(slots_[hole].place);
    values_[slots_[hole].place] = Value{};
    keys_[slots_[hole].place] = {};
    // Those behind it that would have stood there move up.
    for (std::size_t at = next(hole); slots_[at].place != kNowhere; at = next(at)) {
      const std::size_t home = static_cast<std::size_t>(slots_[at].key) & mask();
      if (((at - home) & mask()) >= ((at - hole) & mask())) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = {};
    --size_;
  }
  void clear() { *this = {}; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Place place = kNowhere;
  };
  static constexpr std::size_t kFirst = 64;

  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  [[nodiscard]] std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
  /// The slot of a key, or the free one that it would take.
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    std::size_t at = static_cast<std::size_t>(key) & mask();
    while (slots_[at].place != kNowhere && slots_[at].key != key) {
      at = next(at);
    }
    return at;
  }
  Place new_place() {
    if (free_.empty()) {
      values_.emplace_back();
      keys_.emplace_back();
      return static_cast<Place>(values_.size() - 1);
    }
    const Place place = free_.back();
    free_.pop_back();
    return place;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? kFirst : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.place != kNowhere) {
        slots_[slot_of(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;  ///< A power of two of them, half of them free at least.
  std::vector<Value> values_;
  std::vector<Slot> keys_;   ///< By place; without one where it is free.
  std::vector<Place> free_;  ///< Free places of values_.
  mutable Place last_ = 0;   ///< What was found last.
  std::size_t size_ = 0;
};

}  // namespace ridgeline::core
