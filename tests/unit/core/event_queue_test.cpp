#include "core/event_queue.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"

namespace ridgeline::core {
namespace {

SimTime at(std::int64_t ticks) {
  return SimTime::at(Duration::ticks(ticks));
}

std::vector<int> drain(EventQueue<int>& queue) {
  std::vector<int> payloads;
  while (!queue.empty()) {
    payloads.push_back(queue.top().payload);
    queue.pop();
  }
  return payloads;
}

TEST(EventQueue, OrdersByTimeThenPriorityThenInsertion) {
  EventQueue<int> queue;
  queue.push(at(5), 1, 50);
  queue.push(at(3), 9, 30);
  queue.push(at(5), 0, 40);
  queue.push(at(5), 1, 60);
  queue.push(SimTime::never(), 0, 70);
  queue.push(at(0), 4'294'967'295, 10);
  EXPECT_EQ(queue.size(), 6U);
  EXPECT_EQ(drain(queue), (std::vector<int>{10, 30, 40, 50, 60, 70}));
}

TEST(EventQueue, ReplaceTopIsPopAndPush) {
  EventQueue<int> queue;
  queue.push(at(1), 0, 1);
  queue.push(at(2), 0, 2);
  queue.replace_top(at(2), 0, 3);
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(drain(queue), (std::vector<int>{2, 3}));
}

TEST(EventQueue, SequenceCountsInsertions) {
  EventQueue<int> queue;
  queue.push(at(1), 0, 0);
  EXPECT_EQ(queue.top().sequence, 0U);
  queue.replace_top(at(1), 0, 0);
  EXPECT_EQ(queue.top().sequence, 1U);
}

TEST(EventQueueDeathTest, EmptyHasNoTop) {
  EventQueue<int> queue;
  EXPECT_DEATH(static_cast<void>(queue.top()), "the event queue is empty");
  EXPECT_DEATH(queue.pop(), "the event queue is empty");
  EXPECT_DEATH(queue.replace_top(at(0), 0, 1), "the event queue is empty");
}

}  // namespace
}  // namespace ridgeline::core
