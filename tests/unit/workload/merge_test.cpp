#include "workload/merge.hpp"

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

using ::testing::SizeIs;

TEST(Merge, SuperposesByTimeAndTellsContentsApart) {
  Item first = item_at(1);
  first.prompt = {{.content = 5, .length = core::Tokens(10)}};
  first.session = 0;
  Item second = item_at(0.5);
  second.prompt = first.prompt;
  second.session = 0;
  std::vector<std::unique_ptr<ItemStream>> streams;
  streams.push_back(stream_of({first, item_at(2)}));
  streams.push_back(stream_of({second, item_after({0}, 1), item_at(3)}));
  const auto all = superposed(std::move(streams));
  ASSERT_TRUE(all.has_value());
  const auto list = read_all(**all);
  ASSERT_TRUE(list.has_value());
  ASSERT_THAT(list->items, SizeIs(5));
  EXPECT_FALSE(list->items[1].starts_group);
  EXPECT_EQ(list->items[2].arrival, core::Duration::seconds(1));
  EXPECT_NE(list->items[0].prompt[0].content, list->items[2].prompt[0].content);
  EXPECT_NE(list->items[0].session, list->items[2].session);
  EXPECT_TRUE(keeps_group_rules(*list));
}

TEST(Merge, RefusesToMergeStages) {
  std::vector<std::unique_ptr<ItemStream>> streams;
  streams.push_back(stream_of({item_at(1)}, {Stage{.max_concurrency = 1}}));
  streams.push_back(stream_of({item_at(1)}));
  EXPECT_FALSE(superposed(std::move(streams)).has_value());
}

// 3 : 1 over 4000 draws: within five standard errors of 3000.
TEST(Merge, MixesByWeight) {
  std::vector<Item> longs(4000, item_at(0, 100));
  std::vector<Item> shorts(4000, item_at(0, 1));
  std::vector<MixPart> parts;
  parts.push_back({.stream = stream_of(longs), .weight = 3.0});
  parts.push_back({.stream = stream_of(shorts), .weight = 1.0});
  const auto mix = mixed(std::move(parts), 2.0, 4000, 1);
  ASSERT_TRUE(mix.has_value());
  const auto list = read_all(**mix);
  ASSERT_TRUE(list.has_value());
  ASSERT_THAT(list->items, SizeIs(4000));
  double count = 0;
  for (const Item& item : list->items) {
    count += item.input_tokens.value() == 100 ? 1 : 0;
  }
  EXPECT_NEAR(count / 4000, 0.75, kStandardErrors * frequency_error(0.75, 4000));
  // Poisson at 2 per second: 4000 gaps of mean 0.5 and standard error 0.5 / sqrt(4000).
  EXPECT_NEAR(list->items.back().arrival.to_seconds() / 4000,
              0.5,
              kStandardErrors * 0.5 / std::sqrt(4000.0));
}

}  // namespace
}  // namespace ridgeline::workload
