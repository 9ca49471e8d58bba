#include "report/fleet.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

metrics::Summary fleet_of(std::size_t instances) {
  metrics::Summary summary;
  metrics::FleetSummary& fleet = summary.fleet.emplace();
  fleet.router = "least-request";
  fleet.decisions = 1200;
  fleet.ties = 30;
  fleet.request_variation = 0.05;
  fleet.token_variation = 0.1;
  fleet.instances.resize(instances);
  for (auto& instance : fleet.instances) {
    instance.requests = 1200 / static_cast<std::int64_t>(instances);
    instance.busy = 0.5;
  }
  return summary;
}

TextStyle ascii() {
  TextStyle style;
  style.ascii = true;
  return style;
}

TEST(FleetTable, HasTheGatewayAndARowPerInstance) {
  metrics::Summary summary = fleet_of(2);
  summary.fleet->age_ms = 25.0;
  const std::string text = fleet_table(summary, ascii());
  EXPECT_THAT(text, HasSubstr("2 instances  least-request   1 200 decisions"));
  EXPECT_THAT(text, HasSubstr("30 by a draw among equals"));
  EXPECT_THAT(text, HasSubstr("gauges 25.0 ms old"));
  EXPECT_THAT(text, HasSubstr("by instance "));
  EXPECT_THAT(text, HasSubstr("\n1                   600"));
}

/// An autoscaler's first places are the first kind's: some of them may never be filled.
TEST(FleetTable, LeavesOutPlacesThatNoInstanceTook) {
  metrics::Summary summary = fleet_of(4);
  summary.fleet->transfers.emplace().prefill_instances = 2;
  for (const std::size_t used : {0U, 2U, 3U}) {
    summary.fleet->instances[used].ready_s = 60.0;
  }
  const std::string text = fleet_table(summary, ascii());
  EXPECT_THAT(text, HasSubstr("3 instances  least-request"));
  EXPECT_THAT(text, HasSubstr("1 + 2 instances"));
  EXPECT_THAT(text, HasSubstr("\n2                   300"));
  EXPECT_THAT(text, Not(HasSubstr("\n1 ")));
}

TEST(FleetTable, ShowsAtMostSixteen) {
  const std::string text = fleet_table(fleet_of(20), ascii());
  EXPECT_THAT(text, HasSubstr("and 4 more: --format json"));
  EXPECT_THAT(text, Not(HasSubstr("gauges")));
}

TEST(FleetTable, IsEmptyWithoutACluster) {
  EXPECT_EQ(fleet_table({}, {}), "");
}

TEST(FleetTree, NamesEveryInstance) {
  const document::Node tree = fleet_tree(*fleet_of(3).fleet);
  EXPECT_EQ(tree.find("routing")->find("router")->as_string(), "least-request");
  EXPECT_EQ(tree.find("routing")->find("age_ms"), nullptr);
  ASSERT_EQ(tree.find("per_instance")->items().size(), 3);
  EXPECT_EQ(tree.find("per_instance")->items()[2].find("id")->as_integer(), 2);
}

}  // namespace
}  // namespace ridgeline::report
