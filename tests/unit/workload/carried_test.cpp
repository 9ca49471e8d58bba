#include "workload/carried.hpp"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/label_set.hpp"
#include "unit/workload/items.hpp"
#include "workload/item.hpp"
#include "workload/replay.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;

TEST(Carried, CountsWhatIsOutOfTheOrdinary) {
  Labels labels;
  Item plain = item_at(0);
  Item urgent = item_at(0);
  urgent.priority = -3;
  urgent.model = labels.intern("m");
  Item tuned = item_at(0);
  tuned.adapter = labels.intern("sql");
  tuned.videos = 1;
  EXPECT_FALSE(carries_anything(plain));
  EXPECT_TRUE(carries_anything(urgent) && carries_anything(tuned));
  CarriedTally tally;
  for (const Item& item : {plain, urgent, tuned, tuned}) {
    tally.take(item);
  }
  const Carried counts = tally.counts(labels);
  EXPECT_EQ(counts.requests, 4);
  EXPECT_EQ(counts.with_priority, 1);
  EXPECT_EQ(counts.with_adapter, 2);
  EXPECT_EQ(counts.with_media, 2);
  EXPECT_THAT(counts.adapters, ElementsAre("sql"));
  EXPECT_THAT(counts.models, ElementsAre("m"));
  EXPECT_EQ(tally.label_sets().size(), 3U);
}

TEST(Carried, EqualLabelsHaveOneNumber) {
  CarriedTally tally;
  Item item = item_at(0);
  item.tenant = 7;
  const auto first = tally.take(item);
  Item other = item_at(5);
  EXPECT_NE(tally.take(other), first);
  EXPECT_EQ(tally.take(item), first);
  EXPECT_EQ(tally.label_sets()[first].of(domain::Label::kTenant), 7);
}

// A priority of its own for every request must not take memory for every request.
TEST(Carried, SetsAreBounded) {
  domain::LabelSets sets;
  domain::LabelSet set;
  constexpr std::int32_t kMany = 10'000;
  for (std::int32_t i = 0; i < kMany; ++i) {
    set.of(domain::Label::kPriority) = i;
    sets.number_of(set);
  }
  EXPECT_EQ(sets.size(), domain::LabelSets::kMost + 1);
  EXPECT_EQ(sets[sets.number_of(set)].of(domain::Label::kPriority), domain::LabelSet::kOther);
  set.of(domain::Label::kPriority) = 5;
  EXPECT_EQ(sets[sets.number_of(set)], set);
}

TEST(Carried, AReplayHandsItOn) {
  Item item = item_at(1);
  item.priority = 4;
  item.images = 2;
  item.session = 9;
  item.turn = 3;
  const auto source = make_replay(stream_of({item}));
  const domain::Request request = source->pop();
  EXPECT_EQ(request.images, 2);
  EXPECT_EQ(request.turn, 3);
  ASSERT_TRUE(request.label_set.valid());
  EXPECT_EQ((*source->label_sets())[request.label_set].of(domain::Label::kPriority), 4);
  EXPECT_EQ(source->carried().with_priority, 1);
  const auto plain = make_replay(stream_of({item_at(1)}), Carries::kNothing);
  EXPECT_EQ(plain->label_sets(), nullptr);
  EXPECT_FALSE(plain->pop().label_set.valid());
}

}  // namespace
}  // namespace ridgeline::workload
