#include "workload/compose.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "unit/workload/items.hpp"
#include "unit/workload/sample.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::vector<Item> evenly(int count, double gap) {
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    items.push_back(item_at(gap * i));
  }
  return items;
}

TEST(Compose, CutsShiftsAndScales) {
  EXPECT_THAT(arrivals_of(*truncated(stream_of(evenly(4, 1)), 3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(arrivals_of(*shifted(stream_of(evenly(2, 1)), core::Duration::seconds(5))),
              ElementsAre(5, 6));
  EXPECT_THAT(arrivals_of(*sped_up(stream_of(evenly(3, 1)), 4.0)), ElementsAre(0, 0.25, 0.5));
}

TEST(Compose, DealsGroupsAndWholeSessionsOutToRanks) {
  // The first of two ranks gets every second group, with all its members.
  const auto groups =
      dealt_out(stream_of({item_at(0), item_after({0}, 1), item_at(1), item_at(2)}), 2);
  EXPECT_THAT(arrivals_of(*groups), ElementsAre(0, 0, 2));
  // Turns of sessions 0 and 1, recorded one by one: those of session 0.
  std::vector<Item> turns = evenly(4, 1);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    turns[i].session = static_cast<std::int32_t>(i / 2);
  }
  EXPECT_THAT(arrivals_of(*dealt_out(stream_of(turns), 2)), ElementsAre(0, 1));
  // 5 groups at once over 2 ranks: 3 for the first.
  ItemList staged;
  staged.items = evenly(2, 1);
  staged.stages.front().max_concurrency = 5;
  EXPECT_EQ(dealt_out(make_list_stream(staged), 2)->stages().front().max_concurrency, 3);
}

TEST(DealtOut, CountsWhatOtherRanksGet) {
  const auto stream =
      dealt_out(stream_of({item_at(0), item_after({0}, 1), item_at(1), item_at(2), item_at(3)}), 2);
  EXPECT_THAT(arrivals_of(*stream), ElementsAre(0, 0, 2));
  EXPECT_EQ(stream->of_other_ranks(), 2);
}

TEST(Compose, Repeats) {
  const auto again = repeated(
      []() -> core::Result<std::unique_ptr<ItemStream>> { return stream_of(evenly(2, 1)); },
      3,
      core::Duration::seconds(10));
  ASSERT_TRUE(again.has_value());
  EXPECT_THAT(arrivals_of(**again), ElementsAre(0, 1, 10, 11, 20, 21));
}

// From none to all over the whole length: half of them, and the later the more.
TEST(Compose, RampsByThinning) {
  const auto kept = arrivals_of(
      *ramped(stream_of(evenly(10'000, 0.1)), 0.0, 1.0, core::Duration::seconds(1000), 7));
  const auto count = static_cast<double>(kept.size());
  EXPECT_NEAR(count / 10'000, 0.5, kStandardErrors * frequency_error(0.5, 10'000));
  double late = 0;
  for (const double time : kept) {
    late += time >= 500 ? 1 : 0;
  }
  // The later half keeps 3/4 of its half.
  EXPECT_NEAR(late / 5'000, 0.75, kStandardErrors * frequency_error(0.75, 5'000));
}

TEST(Compose, ResamplesWholeGroups) {
  ItemList list;
  list.items = {item_at(0), item_after({0}, 1), item_at(5, 77)};
  const auto drawn = read_all(*resampled(list, 1000, 10.0, 3));
  ASSERT_TRUE(drawn.has_value());
  EXPECT_TRUE(keeps_group_rules(*drawn));
  double groups = 0;
  double lone = 0;
  for (const Item& item : drawn->items) {
    groups += item.starts_group ? 1 : 0;
    lone += item.input_tokens.value() == 77 ? 1 : 0;
  }
  EXPECT_EQ(groups, 1000);
  EXPECT_NEAR(lone / 1000, 0.5, kStandardErrors * frequency_error(0.5, 1000));
}

}  // namespace
}  // namespace ridgeline::workload
