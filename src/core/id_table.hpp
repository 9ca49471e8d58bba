#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/fetch.hpp"
#include "core/ring.hpp"

namespace ridgeline::core {

/// Values by id, where ids grow as values come and old ones go first, more or less: a place per id
/// from the oldest on. A value stays where it is until it is erased; its memory is the next one's.
template <class Value>
class IdTable {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The value of an id; null where there is none.
  [[nodiscard]] Value* find(std::uint64_t id) {
    const std::uint64_t place = id - first_;
    if (id < first_ || place >= places_.size() || places_[place] == kNone) {
      return nullptr;
    }
    return &at(places_[place]);
  }

  /// A hint that the value of this id, if there is one, is used soon: core::fetch_line().
  void fetch_line(std::uint64_t id) {
    if (const Value* const value = find(id)) {
      core::fetch_line(*value);
    }
  }

  /// A value for an id that has none yet, to be assigned: it holds what an erased one left.
  Value& add(std::uint64_t id) {
    if (size_ == 0) {
      places_.clear();
      first_ = id;
    }
    for (; id < first_; --first_) {
      places_.push_front(kNone);
    }
    while (id - first_ >= places_.size()) {
      places_.push_back(kNone);
    }
    RIDGELINE_CHECK(places_[id - first_] == kNone, "an id is added once");
    if (free_.empty()) {
      grow();
    }
    const Slot slot = free_.back();
    free_.pop_back();
    places_[id - first_] = slot;
    ++size_;
    return at(slot);
  }

  void erase(std::uint64_t id) {
    RIDGELINE_CHECK(find(id) != nullptr, "an id is erased that was added");
    Slot& place = places_[id - first_];
    free_.push_back(std::exchange(place, kNone));
    --size_;
    for (; !places_.empty() && places_.front() == kNone; ++first_) {
      places_.pop_front();
    }
  }

  /// Calls `visit` with each id and its value, in ascending order of the ids.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] != kNone) {
        visit(first_ + i, at(places_[i]));
      }
    }
  }

 private:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = std::numeric_limits<Slot>::max();

  static constexpr Slot kChunk = 256;  ///< Values that are made at once.

  [[nodiscard]] Value& at(Slot slot) { return chunks_[slot / kChunk][slot % kChunk]; }
  void grow() {
    const auto first = static_cast<Slot>(chunks_.size() * kChunk);
    chunks_.push_back(std::make_unique<Value[]>(kChunk));  // NOLINT(modernize-avoid-c-arrays)
    for (Slot i = kChunk; i > 0; --i) {
      free_.push_back(first + i - 1);
    }
  }

  std::uint64_t first_ = 0;  ///< The id of the first place.
  Ring<Slot> places_;
  std::vector<std::unique_ptr<Value[]>> chunks_;  // NOLINT(modernize-avoid-c-arrays)
  std::vector<Slot> free_;
  std::size_t size_ = 0;
};

}  // namespace ridgeline::core
