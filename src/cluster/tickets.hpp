#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"

namespace ridgeline::cluster {

/// The tickets of the requests in a cluster, by id. Ids grow with the arrivals, so that a place per
/// id from the oldest request on is small. A ticket stays where it is until it is erased.
class Tickets {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// The ticket of a request; null where there is none.
  [[nodiscard]] Ticket* find(core::RequestId id) {
    const std::uint64_t place = std::uint64_t{id.value()} - first_;
    return id.value() >= first_ && place < places_.size() && places_[place] ? &*places_[place]
                                                                            : nullptr;
  }

  /// The ticket of a request that has none yet.
  Ticket& add(domain::Request request) {
    const std::uint64_t id = request.id.value();
    if (size_ == 0) {
      places_.clear();
      first_ = id;
    }
    for (; id < first_; --first_) {
      places_.emplace_front();
    }
    while (id - first_ >= places_.size()) {
      places_.emplace_back();
    }
    std::optional<Ticket>& place = places_[id - first_];
    RIDGELINE_CHECK(!place, "a request arrives once");
    ++size_;
    return place.emplace(Ticket{.request = std::move(request)});
  }

  void erase(core::RequestId id) {
    RIDGELINE_CHECK(find(id) != nullptr, "a request ends once, where it was sent");
    places_[id.value() - first_].reset();
    --size_;
    for (; !places_.empty() && !places_.front(); ++first_) {
      places_.pop_front();
    }
  }

  /// The ids of all, in ascending order.
  [[nodiscard]] std::vector<core::RequestId> ids() const {
    std::vector<core::RequestId> all;
    for (const std::optional<Ticket>& place : places_) {
      if (place) {
        all.push_back(place->request.id);
      }
    }
    return all;
  }

 private:
  std::uint64_t first_ = 0;  ///< The id of the first place.
  std::deque<std::optional<Ticket>> places_;
  std::size_t size_ = 0;
};

}  // namespace ridgeline::cluster
