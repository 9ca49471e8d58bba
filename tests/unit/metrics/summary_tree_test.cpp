#include "metrics/summary_tree.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

TEST(SummaryTree, HasNullWhereThereIsNoNumber) {
  Summary summary;
  summary.completed = 7;
  summary.power.emplace().own_law = true;
  const document::Node tree = summary_tree(summary);
  EXPECT_EQ(tree.find("completed")->as_integer(), 7);
  EXPECT_TRUE(node_at(tree, "ttft_ms.p99").is_null());
  EXPECT_TRUE(node_at(tree, "duration_s").is_null());
  EXPECT_EQ(node_at(tree, "power.law").as_string(), "measured");
  EXPECT_EQ(tree.find("cluster"), nullptr);
  EXPECT_EQ(tree.find("groups"), nullptr);
  EXPECT_FALSE(tree.find("overloaded")->as_bool());
}

}  // namespace
}  // namespace ridgeline::metrics
