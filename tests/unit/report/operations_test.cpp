#include "report/operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "metrics/operations_summary.hpp"
#include "report/palette.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

metrics::OperationsSummary busy_day() {
  metrics::OperationsSummary all;
  all.scaling =
      metrics::ScalingSummary{.policy = "hpa",
                              .pools = {""},
                              .events = {{.at_s = 15.0, .from = 2, .to = 4, .reason = "up"},
                                         {.at_s = 900.0, .from = 4, .to = 3, .reason = "down"}},
                              .replica_seconds = 7200.0,
                              .gpu_hours = 4.0,
                              .cost = 10.0};
  for (int i = 0; i < 6; ++i) {
    all.faults.push_back(
        {.kind = "crash", .instance = i, .at_s = 30.0, .over_s = 50.0, .failed_requests = 2});
  }
  all.retries = {.attempts = 7, .retried_requests = 5, .wasted_tokens = 1234};
  all.held_requests = 1;
  return all;
}

TEST(OperationsLines, SayWhatHappened) {
  const std::string text = operations_lines(busy_day(), {});
  EXPECT_THAT(text, HasSubstr("scaling      hpa   1 time up, 1 down"));
  EXPECT_THAT(text, HasSubstr("4 instances at most"));
  EXPECT_THAT(text, HasSubstr("cost 10"));
  EXPECT_THAT(text, HasSubstr("crash of 0 at 30.0 s, 2 requests lost, over after 20.0 s"));
  EXPECT_THAT(text, HasSubstr("6 faults in all, 12 requests lost"));
  EXPECT_THAT(text, HasSubstr("1 request waited for an instance"));
  EXPECT_THAT(text, HasSubstr("5 requests sent again, 7 further attempts"));
}

TEST(OperationsLines, SayHowAnUpdateWent) {
  metrics::OperationsSummary all;
  all.updates = {{.at_s = 60.0,
                  .instances = 4,
                  .replaced = 4,
                  .fewest_ready = 3,
                  .over_s = 198.0,
                  .failed_requests = 5,
                  .rerouted_requests = 2},
                 {.pool = "decode",
                  .at_s = 60.0,
                  .instances = 2,
                  .replaced = 1,
                  .starting = 1,
                  .fewest_ready = 1}};
  const std::string text = operations_lines(all, {});
  EXPECT_THAT(text,
              HasSubstr("update       4 of 4 instances replaced from 60.0 s on, over after "));
  EXPECT_THAT(text, HasSubstr("5 requests lost, 2 of them sent again"));
  EXPECT_THAT(text,
              HasSubstr("decode 1 of 2 instances replaced from 60.0 s on, not over by the end, "
                        "1 new instance still starting"));
  MapBuilder cluster;
  all.retries.emplace();
  add_operations(all, cluster);
  const document::Node tree = cluster.build();
  ASSERT_EQ(tree.find("updates")->items().size(), 2);
  EXPECT_EQ(tree.find("updates")->items()[0].find("rerouted_requests")->as_integer(), 2);
  EXPECT_TRUE(tree.find("updates")->items()[1].find("over_s")->is_null());
  EXPECT_EQ(tree.find("updates")->items()[0].find("starting")->as_integer(), 0);
  EXPECT_EQ(tree.find("updates")->items()[1].find("starting")->as_integer(), 1);
}

TEST(OperationsLines, SayItOfEachPool) {
  metrics::OperationsSummary all;
  all.scaling = metrics::ScalingSummary{
      .policy = "wva",
      .pools = {"cheap", "dear", "idle"},
      .events = {{.at_s = 15.0, .pool = "cheap", .from = 2, .to = 3, .reason = "up"},
                 {.at_s = 30.0, .pool = "dear", .from = 4, .to = 3, .reason = "down"}}};
  EXPECT_THAT(operations_lines(all, {}), HasSubstr("cheap 1 time up, 0 down"));
  EXPECT_THAT(operations_lines(all, {}), HasSubstr("dear 0 times up, 1 down"));
  EXPECT_THAT(operations_lines(all, {}), Not(HasSubstr("idle")));
  all.scaling->events.clear();
  EXPECT_THAT(operations_lines(all, {}), HasSubstr("wva   no change"));
}

TEST(OperationsTree, HasEveryEventAndFault) {
  MapBuilder cluster;
  add_operations(busy_day(), cluster);
  const document::Node tree = cluster.build();
  EXPECT_EQ(tree.find("scaling")->find("events")->items().size(), 2);
  EXPECT_EQ(tree.find("faults")->items().size(), 6);
  EXPECT_EQ(tree.find("retries")->find("wasted_tokens")->as_integer(), 1234);
  MapBuilder priced;
  add_operations({.scaling = metrics::ScalingSummary{.gpu_hours = 2.0}}, priced);
  const document::Node fixed = priced.build();
  EXPECT_EQ(fixed.find("scaling")->find("events"), nullptr);
  EXPECT_EQ(fixed.find("faults"), nullptr);
}

}  // namespace
}  // namespace ridgeline::report
