#include <gtest/gtest.h>

#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

TEST(KvTiersStudy, RunsEverySettingAndReachesAVerdict) {
  const auto report = run_study(study_kv_tiers(), {});
  ASSERT_TRUE(report.has_value());
  EXPECT_NE(report->outcome.by_rule, Verdict::kUndecided);
  EXPECT_EQ(report->outcome.tables.front().rows.size(), 4U);
  EXPECT_FALSE(report->outcome.finding.empty());
}

}  // namespace
}  // namespace ridgeline::studies
