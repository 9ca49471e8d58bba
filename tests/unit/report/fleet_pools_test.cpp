#include "report/fleet_pools.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;

metrics::Summary with_pools() {
  metrics::Summary summary;
  metrics::FleetSummary& fleet = summary.fleet.emplace();
  fleet.pools.push_back({.name = "big",
                         .model = "llama",
                         .gpu = "H100",
                         .instances = 2,
                         .gpus = 4,
                         .gpu_hours = 8.0,
                         .cost = 20.0});
  fleet.pools.back().together.requests = 70;
  fleet.pools.back().together.busy = 0.5;
  fleet.pools.push_back(
      {.name = "old", .model = "llama", .gpu = "A100", .instances = 1, .gpus = 1});
  return summary;
}

TEST(PoolsTree, HasACostWhereThereIsAPrice) {
  const document::Node tree = pools_tree(*with_pools().fleet);
  ASSERT_EQ(tree.items().size(), 2);
  EXPECT_EQ(tree.items()[0].find("gpus_per_instance")->as_integer(), 4);
  EXPECT_EQ(tree.items()[0].find("cost")->as_real(), 20.0);
  EXPECT_EQ(tree.items()[1].find("cost"), nullptr);
  EXPECT_TRUE(tree.items()[1].find("busy")->is_null());
}

TEST(PoolsTable, SaysWhatEachConsistsOf) {
  TextStyle style;
  style.ascii = true;
  const std::string text = pools_table(with_pools(), style);
  EXPECT_THAT(text, HasSubstr("big: 2 instances of llama on 4 H100"));
  EXPECT_THAT(text, HasSubstr("old: 1 instance of llama on 1 A100"));
  EXPECT_THAT(text, HasSubstr("by pool"));
  metrics::Summary without;
  without.fleet.emplace();
  EXPECT_EQ(pools_table(without, style), "");
}

}  // namespace
}  // namespace ridgeline::report
