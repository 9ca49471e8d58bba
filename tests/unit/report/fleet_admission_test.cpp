#include "report/fleet_admission.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/fleet.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

metrics::Summary summary_of_two_tenants() {
  metrics::Summary summary;
  metrics::FleetSummary& fleet = summary.fleet.emplace();
  fleet.instances.resize(1);
  fleet.admission = metrics::AdmissionSummary{.policy = "priority",
                                              .flow_control = true,
                                              .admitted = 1900,
                                              .evicted = {},
                                              .rejected = {{"saturated", 90}, {"queue_full", 0}},
                                              .queue_ms = {}};
  fleet.admission->queue_ms.emplace().values.fill(12.5);
  fleet.tenants.resize(2);
  fleet.tenants[0].name = "gold";
  fleet.tenants[0].requests = 1500;
  fleet.tenants[0].share = 0.75;
  fleet.tenants[1].name = "batch";
  fleet.tenants[1].rejected = 80;
  fleet.tenants[1].expired = 10;
  fleet.fairness = 0.8;
  fleet.fairness_of_demand = 0.9;
  return summary;
}

TEST(AdmissionTable, SaysWhatWasRefusedAndHowLongTheRestWaited) {
  TextStyle style;
  style.ascii = true;
  const std::string text = fleet_table(summary_of_two_tenants(), style);
  EXPECT_THAT(text, HasSubstr("admission    priority with flow control   1 900 admitted"));
  EXPECT_THAT(text, HasSubstr("90 refused: saturated"));
  EXPECT_THAT(text, Not(HasSubstr("queue full")));
  EXPECT_THAT(text, HasSubstr("queued 12.5 ms, p99 12.5 ms"));
  EXPECT_THAT(text, HasSubstr("\ngold              1 500         0"));
  EXPECT_THAT(text, HasSubstr("\nbatch                 0        90"));
  EXPECT_THAT(text, HasSubstr("fairness     0.800 of 1"));
  EXPECT_THAT(text, HasSubstr("\n             0.900 over the fair part"));
}

TEST(AdmissionTree, HasEveryReasonAndEveryTenant) {
  const auto tree = fleet_tree(*summary_of_two_tenants().fleet);
  const document::Node& rejected = *tree.find("admission")->find("rejected");
  EXPECT_EQ(rejected.find("saturated")->as_integer(), 90);
  EXPECT_EQ(rejected.find("queue_full")->as_integer(), 0);
  EXPECT_EQ(tree.find("per_tenant")->items().size(), 2);
  EXPECT_EQ(tree.find("per_tenant")->items()[1].find("expired")->as_integer(), 10);
  EXPECT_EQ(tree.find("fairness")->as_real(), 0.8);
}

}  // namespace
}  // namespace ridgeline::report
