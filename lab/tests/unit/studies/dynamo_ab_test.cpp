#include <gtest/gtest.h>

#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

TEST(DynamoAb, IsUndecidedWithoutItsTrace) {
  const Study study = study_dynamo_ab();
  const auto report = run_study(study, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->outcome.by_rule, Verdict::kUndecided);
  ASSERT_EQ(report->outcome.skipped.size(), 1);
  EXPECT_EQ(report->outcome.skipped.front().needs, "--trace FILE, Mooncake's toolagent trace");
  EXPECT_TRUE(report->outcome.tables.empty());
}

}  // namespace
}  // namespace ridgeline::studies
