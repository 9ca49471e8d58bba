// Requests that decode, as sums: which steps they are in, what they have computed, when they leave
// and when their blocks change.
#include <cstdint>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/loop/decode_set.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "support/probe_run.hpp"

namespace ridgeline::engine {
namespace {

using testing::ElementsAre;

core::SimTime at_tick(std::int64_t ticks) {
  return core::SimTime() + core::Duration::ticks(ticks);
}

/// Requests in one DecodeSet, in steps that all have all members.
class Members : public testing::Test {
 protected:
  Sequence& make(std::int64_t place) {
    sequences_.push_back(std::make_unique<Sequence>(
        test::tiny_request(static_cast<std::uint32_t>(place), 6, 20), core::Tokens(100)));
    sequences_.back()->place = place;
    return *sequences_.back();
  }
  void form() {
    set_.put_in_step();
    steps_.push_back(set_.in_step());
    set_.form();
  }
  void end(std::int64_t ticks) {
    set_.end(steps_.front(), at_tick(ticks));
    steps_.erase(steps_.begin());
  }

  DecodeSet set_;
  std::vector<DecodeSet::InStep> steps_;
  std::vector<std::unique_ptr<Sequence>> sequences_;
};

TEST_F(Members, AreACountAndAContextThatGrowsByOneEach) {
  set_.add(make(0), 6, 0, 10);
  set_.add(make(1), 9, 0, 10);
  form();
  EXPECT_EQ(steps_[0].count, 2);
  EXPECT_EQ(steps_[0].context, core::Tokens(15));
  form();
  EXPECT_EQ(steps_[1].context, core::Tokens(17));
}

TEST_F(Members, AreBehindByTheStepsSinceTheyWereSettled) {
  Sequence& one = make(0);
  set_.add(one, 6, 0, 10);
  form();
  form();
  end(100);
  const DecodeSet::Progress first = set_.settle(one);
  EXPECT_EQ(first.formed, 2);
  EXPECT_EQ(first.ended, 1);
  EXPECT_EQ(one.num_delivered_tokens, 1);
  form();
  const DecodeSet::Progress second = set_.settle(one);
  EXPECT_EQ(second.formed, 1);
  EXPECT_EQ(second.ended, 0);
}

TEST_F(Members, LeaveBeforeTheStepThatTheySayEnds) {
  Sequence& one = make(0);
  Sequence& other = make(1);
  set_.add(one, 6, 0, 1);
  set_.add(other, 6, 0, 4);
  form();
  form();
  EXPECT_EQ(set_.due_to_leave(), nullptr);
  EXPECT_EQ(set_.steps_left(), 1);
  end(100);
  ASSERT_EQ(set_.due_to_leave(), &one);
  set_.settle(one);
  set_.remove(one);
  EXPECT_EQ(one.last_token, at_tick(100));
  EXPECT_EQ(set_.steps_left(), 3);
  // Step 1 is in flight: the request stands in it by itself from now on.
  const std::vector<DecodeSet::Leaver> leavers = set_.take_leavers();
  ASSERT_EQ(leavers.size(), 1U);
  EXPECT_EQ(leavers[0].sequence, &one);
  EXPECT_EQ(leavers[0].base + 1, 7) << "computed before step 1";
}

TEST_F(Members, AreNotBehindByAStepThatLeavesThemOut) {
  Sequence& one = make(0);
  set_.add(one, 6, 0, 10);
  form();
  set_.leave_out_of_step();
  EXPECT_EQ(set_.in_step().number, -1);
  set_.form();
  EXPECT_EQ(set_.next_step(), 1);
  set_.end(set_.in_step(), at_tick(200));
  EXPECT_EQ(set_.oldest_step(), 0);
  EXPECT_EQ(set_.last_end(), core::SimTime()) << "no member had a token";
}

TEST_F(Members, BeginBlocksWhereWhatTheyHaveComputedIsWholeBlocks) {
  BlockPhases phases(4);
  phases.add(6);  // 8 tokens before step 2.
  phases.add(-1);
  EXPECT_THAT((std::vector{phases.in(0), phases.in(1), phases.in(2), phases.in(5), phases.in(6)}),
              ElementsAre(0, 1, 1, 1, 1));
  phases.remove(6);
  EXPECT_EQ(phases.in(2), 0);
}

TEST_F(Members, HaveTheirTurnInTheOrderOfTheirPlaces) {
  StepCalendar calendar;
  Sequence& one = make(1);
  Sequence& other = make(0);
  Sequence& late = make(2);
  calendar.add(one, 5);
  calendar.add(other, 5);
  calendar.add(late, 5 + 64);
  std::vector<Sequence*> due;
  EXPECT_EQ(calendar.next(0, 100), 5);
  calendar.take(5, due);
  EXPECT_THAT(due, ElementsAre(&other, &one));
  EXPECT_EQ(calendar.next(6, 60), 60);
  due.clear();
  calendar.take(69, due);
  EXPECT_THAT(due, ElementsAre(&late));
  calendar.add(late, 70);
  calendar.remove(late);
  EXPECT_EQ(calendar.next(70, 80), 80);
}

}  // namespace
}  // namespace ridgeline::engine
