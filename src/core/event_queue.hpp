#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"

namespace ridgeline::core {

/// Future events in order of (time, priority, order of insertion): a 4-ary heap of plain values.
/// push, pop and replace_top are O(log n); nothing is allocated but the growing array.
template <class Payload>
class EventQueue {
  static_assert(std::is_trivially_copyable_v<Payload>, "events are plain values");

 public:
  struct Event {
    SimTime time;
    std::uint64_t sequence = 0;  ///< Given by the queue, from 0.
    std::uint32_t priority = 0;  ///< The smaller goes first at equal times.
    Payload payload{};
  };

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  void reserve(std::size_t events) { heap_.reserve(events); }

  /// The earliest event; requires one.
  [[nodiscard]] const Event& top() const {
    RIDGELINE_CHECK(!heap_.empty(), "the event queue is empty");
    return heap_.front();
  }

  void push(SimTime time, std::uint32_t priority, const Payload& payload) {
    const Event event = make(time, priority, payload);
    heap_.push_back(event);
    rise(heap_.size() - 1, event);
  }

  /// Removes the earliest event; requires one.
  void pop() {
    RIDGELINE_CHECK(!heap_.empty(), "the event queue is empty");
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sink(last);
    }
  }

  /// pop and push in one, at about half the cost.
  void replace_top(SimTime time, std::uint32_t priority, const Payload& payload) {
    RIDGELINE_CHECK(!heap_.empty(), "the event queue is empty");
    sink(make(time, priority, payload));
  }

 private:
  static constexpr std::size_t kArity = 4;

  Event make(SimTime time, std::uint32_t priority, const Payload& payload) {
    return {.time = time, .sequence = next_sequence_++, .priority = priority, .payload = payload};
  }

  static bool before(const Event& a, const Event& b) {
    if (a.time != b.time) {
      return a.time < b.time;
    }
    return a.priority != b.priority ? a.priority < b.priority : a.sequence < b.sequence;
  }

  /// Moves the hole at `at` up to where `event` belongs, and fills it.
  void rise(std::size_t at, const Event& event) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      if (!before(event, heap_[parent])) {
        break;
      }
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = event;
  }

  /// Moves the hole at the top down to where `event` belongs, and fills it.
  void sink(const Event& event) {
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    while (true) {
      const std::size_t first_child = at * kArity + 1;
      if (first_child >= size) {
        break;
      }
      std::size_t least = first_child;
      const std::size_t end = std::min(first_child + kArity, size);
      for (std::size_t child = first_child + 1; child < end; ++child) {
        least = before(heap_[child], heap_[least]) ? child : least;
      }
      if (!before(heap_[least], event)) {
        break;
      }
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = event;
  }

  std::vector<Event> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace ridgeline::core
