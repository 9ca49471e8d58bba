#include "sim/logs/step_ends.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "domain/record.hpp"

namespace ridgeline::sim {
namespace {

core::SimTime at(std::int64_t ticks) {
  return core::SimTime::at(core::Duration::ticks(ticks));
}

StepEnds ends_of_runs() {
  StepEnds ends;
  domain::StepRecord run;
  run.start = at(100);
  run.period = core::Duration::ticks(10);
  run.period_growth = core::Duration::ticks(2);
  run.steps = 3;  // ends at 110, 122, 136: periods of 10, 12, 14
  ends.add(run);
  run.start = at(136);
  run.period_growth = {};
  run.steps = 1;  // 146
  ends.add(run);
  return ends;
}

TEST(StepEnds, OfRunsThatGrow) {
  const auto ends = ends_of_runs();
  EXPECT_THAT(ends.between(at(0), at(200)),
              ::testing::ElementsAre(at(110), at(122), at(136), at(146)));
  EXPECT_THAT(ends.between(at(110), at(136)), ::testing::ElementsAre(at(122), at(136)));
  EXPECT_THAT(ends.between(at(136), at(146)), ::testing::ElementsAre(at(146)));
  EXPECT_THAT(ends.between(at(146), at(200)), ::testing::IsEmpty());
}

}  // namespace
}  // namespace ridgeline::sim
