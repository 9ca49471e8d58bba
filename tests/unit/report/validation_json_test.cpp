#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/validate.hpp"
#include "report/validation.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::report {
namespace {

using test::small_validation;

TEST(ValidationJson, JsonHoldsRecordsScoresPeersAndCounts) {
  const auto node = document::parse_json(validation_json(small_validation()), "own.json").value();
  EXPECT_EQ(node.find("counts")->find("records")->as_integer(), 2);
  EXPECT_EQ(node.find("counts")->find("unpredicted")->as_integer(), 1);
  const auto& scores = node.find("scores")->items();
  ASSERT_FALSE(scores.empty());
  EXPECT_EQ(scores[0].find("axis")->as_string(), "all");
  EXPECT_DOUBLE_EQ(scores[0].find("median_abs_pct")->as_real(), 10.0);
  EXPECT_DOUBLE_EQ(node.find("peers")->items()[0].find("median_abs_pct")->as_real(), 50.0);
  const auto& records = node.find("records")->items();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_DOUBLE_EQ(records[0].find("error_pct")->find("e2e")->find("mean")->as_real(), 10.0);
  EXPECT_TRUE(records[1].find("predicted")->is_null());
  EXPECT_EQ(records[1].find("reason")->as_string(), "no such network");
}

}  // namespace
}  // namespace ridgeline::report
