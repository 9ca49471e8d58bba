#include "workload/trace_tree.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "workload/trace_stats.hpp"

namespace ridgeline::workload {
namespace {

TEST(TraceTree, HasNullWhereThereIsNoNumber) {
  TraceStats stats{.format = "mooncake", .requests = 3};
  stats.models = {{.name = "llama", .requests = 3}};
  const document::Node tree = trace_tree(stats);
  EXPECT_EQ(tree.find("requests")->as_integer(), 3);
  EXPECT_TRUE(tree.find("request_rate")->is_null());
  EXPECT_TRUE(tree.find("turns_per_session")->is_null());
  EXPECT_TRUE(at_path(tree, "block_reuse.ideal")->is_null());
  EXPECT_EQ(tree.find("models")->items().front().find("name")->as_string(), "llama");
}

}  // namespace
}  // namespace ridgeline::workload
