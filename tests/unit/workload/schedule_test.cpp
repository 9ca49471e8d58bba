#include "workload/schedule.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "unit/workload/items.hpp"
#include "workload/compose.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {
namespace {

core::SimTime at(double seconds) {
  return core::SimTime::at(*core::Duration::from_seconds(seconds));
}

TEST(Schedule, ATurnHasNoTimeUntilTheAnswerBeforeItIsThere) {
  Schedule schedule(stream_of({item_at(1), item_after({0}, 0.5)}));
  ASSERT_EQ(schedule.next_time(), at(1));
  Item item;
  core::RequestId id;
  schedule.pop(item, id);
  EXPECT_EQ(item.arrival.to_seconds(), 1.0);
  EXPECT_EQ(schedule.next_time(), std::nullopt);
  schedule.on_completion(id, at(4));
  // Half a second of delay after the answer.
  EXPECT_EQ(schedule.next_time(), at(4.5));
}

TEST(Schedule, ALimitOfConcurrencyHoldsTheNextGroupBack) {
  Schedule schedule(stream_of({item_at(0), item_at(0)}, {Stage{.max_concurrency = 1}}));
  Item item;
  core::RequestId first;
  ASSERT_EQ(schedule.next_time(), at(0));
  schedule.pop(item, first);
  EXPECT_EQ(schedule.next_time(), std::nullopt);
  schedule.on_completion(first, at(2));
  EXPECT_EQ(schedule.next_time(), at(2));
}

TEST(Schedule, NothingIsSentOnceItsStreamHasSaidSo) {
  Schedule schedule(sent_before(stream_of({item_at(1), item_after({0}, 0.5), item_at(3)}),
                                core::Duration::seconds(4)));
  Item item;
  core::RequestId first;
  ASSERT_EQ(schedule.next_time(), at(1));
  schedule.pop(item, first);
  ASSERT_EQ(schedule.next_time(), at(3));
  core::RequestId second;
  schedule.pop(item, second);
  schedule.on_completion(first, at(3.6));
  // The next turn would be sent at 4.1 s.
  EXPECT_EQ(schedule.next_time(), std::nullopt);
}

TEST(Schedule, ATurnBeforeTheEndIsSent) {
  Schedule schedule(
      sent_before(stream_of({item_at(1), item_after({0}, 0.5)}), core::Duration::seconds(4)));
  Item item;
  core::RequestId id;
  schedule.pop(item, id);
  schedule.on_completion(id, at(3.4));
  EXPECT_EQ(schedule.next_time(), at(3.9));
}

}  // namespace
}  // namespace ridgeline::workload
