#include "metrics/step_run.hpp"

#include <cstdint>
#include <utility>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/series.hpp"

namespace ridgeline::metrics {
namespace {

using core::Duration;

/// Steps of 100, 103, 106, ... ticks, whose memory time grows by 5 and whose overhead shrinks by 2.
domain::StepRecord record() {
  domain::StepRecord record;
  record.steps = 10;
  record.period = Duration::ticks(100);
  record.period_growth = Duration::ticks(3);
  record.gpu_growth = Duration::ticks(5);
  record.num_decodes = 3;
  record.decode_context = core::Tokens(50);
  record.shared_context = core::Tokens(20);
  record.time.by_bottleneck = {
      Duration::ticks(10), Duration::ticks(40), Duration::ticks(20), Duration::ticks(30)};
  return record;
}

TEST(StepRun, FindsTheStepsThatEndInTime) {
  const domain::StepRecord steps = record();
  const StepRun run(steps);
  EXPECT_EQ(run.length(3), 309);
  EXPECT_EQ(run.steps_within(308, 0), 2);
  EXPECT_EQ(run.steps_within(309, 0), 3);
  EXPECT_EQ(run.steps_within(309, 5), 5);  // As the caller knows.
  EXPECT_EQ(run.steps_within(1'000'000, 0), 10);
}

TEST(StepRun, StepsTogetherAreTheSumOfEach) {
  const domain::StepRecord steps = record();
  const StepRun run(steps);
  Window together;
  run.add_steps(2, 9, together);
  Window apart;
  for (std::int64_t step = 2; step < 9; ++step) {
    run.add_part(step, 0, run.period(step), apart);
    run.count_steps(step, step + 1, apart);
  }
  EXPECT_EQ(together, apart);
  // 50 - 20 tokens before the first step, three more at the end of each.
  EXPECT_EQ(together.kv_tokens_min, 30 + 9);
  EXPECT_EQ(together.kv_tokens_max, 30 + 27);
}

/// The record, and ones at and beyond what add_all() does in 64 bits.
TEST(StepRun, AllStepsInOneWindowAreTheStepsInIt) {
  domain::StepRecord one = record();
  one.steps = 1;
  domain::StepRecord shrinking = record();  // The last step takes 1 tick.
  shrinking.period_growth = Duration::ticks(-11);
  domain::StepRecord long_steps = record();
  long_steps.period = Duration::seconds(1);  // 10 of them: past 2^43 ticks.
  domain::StepRecord many = record();
  many.steps = (std::int64_t{1} << 20) - 1;
  domain::StepRecord more = many;
  more.steps = std::int64_t{1} << 20;
  for (const auto& steps : {record(), one, shrinking, long_steps, many, more}) {
    const StepRun run(steps);
    Window at_once;
    run.add_all(run.length(run.steps()), at_once);
    Window general;
    run.add_steps(0, run.steps(), general);
    EXPECT_EQ(at_once, general) << run.steps() << " steps";
    EXPECT_EQ(at_once.steps, steps.steps);
  }
}

TEST(StepRun, PartsOfAStepAreAllOfIt) {
  const domain::StepRecord steps = record();
  const StepRun run(steps);
  Window whole;
  run.add_part(4, 0, 112, whole);
  Window parts;
  for (const auto& [from, to] : {std::pair{0, 1}, {1, 50}, {50, 51}, {51, 112}}) {
    run.add_part(4, from, to, parts);
  }
  EXPECT_EQ(whole, parts);
  EXPECT_EQ(whole.busy[1], 60);
  EXPECT_EQ(whole.busy[3], 22);
}

TEST(StepRun, AStepWithoutTimeCountsAndIsInNoGauge) {
  domain::StepRecord steps = record();
  steps.steps = 1;
  steps.period = {};
  Window window;
  StepRun(steps).add_steps(0, 1, window);
  EXPECT_EQ(window.steps, 1);
  EXPECT_EQ(window.running_max, 0);
}

}  // namespace
}  // namespace ridgeline::metrics
