#include "report/lock_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "metrics/lock_step_summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;

const metrics::LockStepSummary kTwoOfTwo = {
    .ranks = 2,
    .per_rank = {{.steps = 1000, .dummy_steps = 10, .waited = 0.1},
                 {.steps = 1000, .dummy_steps = 30, .waited = 0.2},
                 {.steps = 0, .dummy_steps = 0, .waited = {}},
                 {.steps = 0, .dummy_steps = 0, .waited = {}}}};

TEST(LockStepReport, SumsTheRanksInALine) {
  EXPECT_THAT(lock_step_line(kTwoOfTwo, {}), HasSubstr("2 groups of 2 ranks"));
  EXPECT_THAT(lock_step_line(kTwoOfTwo, {}), HasSubstr("40 of 2 000 steps without a request"));
  EXPECT_THAT(lock_step_line(kTwoOfTwo, {}),
              HasSubstr("15.0 % of their time for the longest rank"));
}

TEST(LockStepReport, NamesEveryRank) {
  const document::Node tree = lock_step_tree(kTwoOfTwo);
  EXPECT_EQ(tree.find("ranks")->as_integer(), 2);
  const auto& ranks = tree.find("per_rank")->items();
  ASSERT_EQ(ranks.size(), 4U);
  EXPECT_EQ(ranks[1].find("dummy_steps")->as_integer(), 30);
  EXPECT_TRUE(ranks[2].find("waited")->is_null());
}

}  // namespace
}  // namespace ridgeline::report
