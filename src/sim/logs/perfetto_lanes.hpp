#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "core/time.hpp"

namespace ridgeline::sim {

/// Hands out lanes: stretches that come in order of their beginning get the lowest free one.
class LaneKeeper {
 public:
  std::uint64_t take(core::SimTime begin, core::SimTime end) {
    while (!busy_.empty() && busy_.top().first <= begin) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    std::uint64_t lane = lanes_;
    if (free_.empty()) {
      ++lanes_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.emplace(end, lane);
    return lane;
  }
  [[nodiscard]] std::uint64_t lanes() const { return lanes_; }

 private:
  template <class T>
  using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;
  LeastFirst<std::pair<core::SimTime, std::uint64_t>> busy_;
  LeastFirst<std::uint64_t> free_;
  std::uint64_t lanes_ = 0;
};

}  // namespace ridgeline::sim
