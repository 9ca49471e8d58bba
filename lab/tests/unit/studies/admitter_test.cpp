#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

double number(const document::Node& row, const char* key) {
  return row.find(key)->as_real();
}

TEST(Admitter, ShedsEarlierAndShortensWhatCriticalRequestsWait) {
  const auto report = run_study(study_admitter(), {});
  ASSERT_TRUE(report.has_value());
  const auto& rows = report->outcome.tables.front().rows;
  ASSERT_EQ(rows.size(), 6U);
  // Far below what the instances can do, neither sheds much.
  EXPECT_EQ(number(rows.front(), "priority_shed_share"), 0.0);
  EXPECT_LT(number(rows.front(), "probabilistic_shed_share"), 0.1);
  for (const document::Node& row : rows) {
    EXPECT_GE(number(row, "probabilistic_shed_share"), number(row, "priority_shed_share"));
  }
  EXPECT_LT(number(rows.back(), "ttft_p90_change"), 0.0);
  EXPECT_LT(number(rows.back(), "e2e_change"), -0.3);
  EXPECT_NE(report->outcome.by_rule, Verdict::kUndecided);
  EXPECT_FALSE(report->outcome.finding.empty());
}

}  // namespace
}  // namespace ridgeline::studies
