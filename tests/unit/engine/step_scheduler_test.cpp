#include "engine/loop/step_scheduler.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/options.hpp"
#include "support/probe_run.hpp"
#include "support/seats/scheduler.hpp"

namespace ridgeline::engine {
namespace {

TEST(Sequence, EndsAtTheFirstOfThreeLimits) {
  domain::Request request = test::tiny_request(0, 10, 8);
  request.max_tokens = core::Tokens(9);
  const Sequence whole(request, core::Tokens(64));
  EXPECT_EQ(whole.stop_after, 8);
  EXPECT_EQ(whole.max_output_tokens, 9);
  EXPECT_EQ(whole.outcome_at_stop, domain::Outcome::kFinished);
  request.max_tokens = core::Tokens(5);
  EXPECT_EQ(Sequence(request, core::Tokens(64)).stop_after, 5);
  const Sequence capped(request, core::Tokens(14));
  EXPECT_EQ(capped.stop_after, 4);
  EXPECT_EQ(capped.outcome_at_stop, domain::Outcome::kLengthCapped);
}

TEST(Sequence, ItsRecordSaysHowItEnded) {
  Sequence sequence(test::tiny_request(0, 10, 8), core::Tokens(64));
  sequence.num_delivered_tokens = 3;
  sequence.last_token = core::SimTime() + core::Duration::microseconds(7);
  sequence.end(domain::Outcome::kAborted);
  EXPECT_TRUE(sequence.has_ended);
  EXPECT_EQ(sequence.record.outcome, domain::Outcome::kAborted);
  EXPECT_EQ(sequence.record.output_tokens, core::Tokens(3));
  EXPECT_EQ(sequence.record.last_token, sequence.last_token);
}

TEST(StepScheduler, QuietRoundsAreTakenOneByOneIfAPolicySaysNothingElse) {
  test::seats::Scheduler scheduler(test::tiny_options("0.15"));
  scheduler.add(test::tiny_request(0, 4, 9));
  ScheduledStep step;
  scheduler.schedule(step);
  const std::vector<std::int64_t> one = {1};
  scheduler.update(step, one);
  scheduler.schedule(step);
  ScheduledStep* const in_flight = &step;
  EXPECT_EQ(scheduler.quiet_steps(), 7);
  EXPECT_TRUE(scheduler.advance_quiet({&in_flight, 1}, 5).empty());
  EXPECT_EQ(scheduler.quiet_steps(), 2);
  EXPECT_EQ(step.front().num_computed_tokens, 9);  // 4 of the prompt; then 5 of its own.
}

}  // namespace
}  // namespace ridgeline::engine
