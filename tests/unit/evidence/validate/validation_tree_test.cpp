#include "evidence/validate/validation_tree.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::evidence::validate {
namespace {

TEST(ValidationTree, HoldsRecordsScoresPeersAndCounts) {
  const document::Node tree = validation_tree(test::small_validation());
  EXPECT_EQ(at_path(tree, "counts.records")->as_integer(), 2);
  EXPECT_EQ(at_path(tree, "counts.unpredicted")->as_integer(), 1);
  const auto& scores = tree.find("scores")->items();
  ASSERT_FALSE(scores.empty());
  EXPECT_EQ(scores[0].find("axis")->as_string(), "all");
  EXPECT_DOUBLE_EQ(scores[0].find("median_abs_pct")->as_real(), 10.0);
  EXPECT_DOUBLE_EQ(tree.find("peers")->items()[0].find("median_abs_pct")->as_real(), 50.0);
  const auto& records = tree.find("records")->items();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_DOUBLE_EQ(at_path(records[0], "error_pct.e2e.mean")->as_real(), 10.0);
  EXPECT_TRUE(records[1].find("predicted")->is_null());
  EXPECT_EQ(records[1].find("reason")->as_string(), "no such network");
}

}  // namespace
}  // namespace ridgeline::evidence::validate
