#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/ring.hpp"

namespace ridgeline::cluster {

/// The tickets of the requests in a cluster, by id. Ids grow with the arrivals, so that a place per
/// id from the oldest request on is small. A ticket stays where it is until it is erased; its
/// memory is the next one's.
class Tickets {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The ticket of a request; null where there is none.
  [[nodiscard]] Ticket* find(core::RequestId id) {
    const std::uint64_t place = std::uint64_t{id.value()} - first_;
    if (id.value() < first_ || place >= places_.size() || places_[place] == kNone) {
      return nullptr;
    }
    return &slots_[places_[place]];
  }

  /// The ticket of a request that has none yet.
  Ticket& add(domain::Request request) {
    const std::uint64_t id = request.id.value();
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
    RIDGELINE_CHECK(places_[id - first_] == kNone, "a request arrives once");
    if (free_.empty()) {
      free_.push_back(static_cast<Slot>(slots_.size()));
      slots_.emplace_back();
    }
    const Slot slot = free_.back();
    free_.pop_back();
    places_[id - first_] = slot;
    ++size_;
    slots_[slot] = Ticket{.request = std::move(request)};
    return slots_[slot];
  }

  void erase(core::RequestId id) {
    RIDGELINE_CHECK(find(id) != nullptr, "a request ends once, where it was sent");
    Slot& place = places_[id.value() - first_];
    free_.push_back(std::exchange(place, kNone));
    --size_;
    for (; !places_.empty() && places_.front() == kNone; ++first_) {
      places_.pop_front();
    }
  }

  /// The ids of all, in ascending order.
  [[nodiscard]] std::vector<core::RequestId> ids() const {
    std::vector<core::RequestId> all;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] != kNone) {
        all.push_back(slots_[places_[i]].request.id);
      }
    }
    return all;
  }

 private:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = std::numeric_limits<Slot>::max();

  std::uint64_t first_ = 0;  ///< The id of the first place.
  core::Ring<Slot> places_;
  std::deque<Ticket> slots_;
  std::vector<Slot> free_;
  std::size_t size_ = 0;
};

}  // namespace ridgeline::cluster
