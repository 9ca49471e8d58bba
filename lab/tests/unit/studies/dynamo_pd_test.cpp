#include <gtest/gtest.h>

#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

TEST(DynamoPd, RunsEverySettingAndReachesAVerdict) {
  const auto report = run_study(study_dynamo_pd(), {});
  ASSERT_TRUE(report.has_value());
  EXPECT_NE(report->outcome.by_rule, Verdict::kUndecided);
  EXPECT_EQ(report->outcome.tables.front().rows.size(), 16U);
  EXPECT_FALSE(report->outcome.finding.empty());
}

}  // namespace
}  // namespace ridgeline::studies
