#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/event_queue.hpp"
#include "core/time.hpp"

namespace ridgeline::core {
namespace {

// Random pushes, pops and replacements against a list kept sorted; few times and priorities, so
// that ties abound.
RC_GTEST_PROP(EventQueue, EqualsASortedList, ()) {
  using Key = std::tuple<std::int64_t, std::uint32_t, std::uint64_t>;
  EventQueue<std::uint64_t> queue;
  std::vector<Key> sorted;
  std::uint64_t pushed = 0;
  const auto insert = [&](std::int64_t time, std::uint32_t priority) {
    const Key key{time, priority, pushed++};
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), key), key);
  };
  const auto operations =
      *rc::gen::container<std::vector<std::tuple<int, std::int64_t, std::uint32_t>>>(
          rc::gen::tuple(rc::gen::inRange(0, 5),
                         rc::gen::inRange<std::int64_t>(0, 20),
                         rc::gen::inRange<std::uint32_t>(0, 3)));
  for (const auto& [operation, ticks, priority] : operations) {
    const SimTime time = SimTime::at(Duration::ticks(ticks));
    if (operation == 3 && !sorted.empty()) {
      queue.pop();
      sorted.erase(sorted.begin());
    } else if (operation == 4 && !sorted.empty()) {
      queue.replace_top(time, priority, pushed);
      sorted.erase(sorted.begin());
      insert(ticks, priority);
    } else {
      queue.push(time, priority, pushed);
      insert(ticks, priority);
    }
    RC_ASSERT(queue.size() == sorted.size());
    RC_ASSERT(queue.empty() == sorted.empty());
    if (!sorted.empty()) {
      const auto& top = queue.top();
      RC_ASSERT((Key{top.time.count(), top.priority, top.sequence}) == sorted.front());
      RC_ASSERT(top.payload == top.sequence);
    }
  }
}

}  // namespace
}  // namespace ridgeline::core
