#include "verbs/run/fleet_view.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/operations_summary.hpp"
#include "metrics/summary.hpp"
#include "metrics/summary_tree.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "support/fleet_summaries.hpp"

namespace ridgeline::verbs {
namespace {

using test::busy_day;
using test::fleet_of;
using test::kTwoOfTwo;
using test::some_tiers;
using test::some_transfers;
using test::summary_of_two_tenants;
using test::with_pools;
using ::testing::HasSubstr;
using ::testing::Not;

std::string fleet_table(const metrics::Summary& summary, const report::TextStyle& style) {
  report::Sheet sheet("Fleet");
  add_fleet(metrics::summary_tree(summary), sheet);
  return sheet.render(report::Face::kTerminal, style);
}

/// The table of a fleet of six in which `set` was set.
template <class Set>
std::string table_of(const Set& set) {
  metrics::Summary summary;
  metrics::FleetSummary& fleet = summary.fleet.emplace();
  fleet.instances.resize(6);
  set(fleet);
  return fleet_table(summary, {});
}

report::TextStyle ascii() {
  report::TextStyle style;
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

TEST(PoolsTable, SaysWhatEachConsistsOf) {
  report::TextStyle style;
  style.ascii = true;
  const std::string text = fleet_table(with_pools(), style);
  EXPECT_THAT(text, HasSubstr("big: 2 instances of llama on 4 H100"));
  EXPECT_THAT(text, HasSubstr("old: 1 instance of llama on 1 A100"));
  EXPECT_THAT(text, HasSubstr("by pool"));
}

TEST(AdmissionTable, SaysWhatWasRefusedAndHowLongTheRestWaited) {
  report::TextStyle style;
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

TEST(LockStepReport, SumsTheRanksInALine) {
  EXPECT_THAT(table_of([](auto& fleet) { fleet.lock_step = kTwoOfTwo; }),
              HasSubstr("2 groups of 2 ranks"));
  EXPECT_THAT(table_of([](auto& fleet) { fleet.lock_step = kTwoOfTwo; }),
              HasSubstr("40 of 2 000 steps without a request"));
  EXPECT_THAT(table_of([](auto& fleet) { fleet.lock_step = kTwoOfTwo; }),
              HasSubstr("15.0 % of their time for the longest rank"));
}

TEST(KvTierReport, LinesSayWhatWasFoundAndWhere) {
  const std::string text = table_of([](auto& fleet) { fleet.offload = some_tiers(); });
  for (const char* part : {"10 000 of 40 000 tokens not on the GPUs loaded (25.0 %)",
                           "12 requests",
                           "30.5 ms each",
                           "2 computed as sooner",
                           "2.50 GB read",
                           "20.2 ms a load",
                           "peak 4 000 of 5 000 blocks",
                           "7 evicted",
                           "3 found no room",
                           "link 12.5 % read, 25.0 % written"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(table_of([](auto& fleet) { fleet.offload.emplace(); }), Not(HasSubstr("each")));
}

TEST(Transfers, LinesSayWhatMovedAndWhereTheFirstTokenWaited) {
  const std::string text = table_of([](auto& fleet) { fleet.transfers = some_transfers(); });
  for (const char* part : {"2 + 4 instances",
                           "1 500 prompts apart",
                           "2.50 GB",
                           "1.25 of it",
                           "busiest wire 12.5 %",
                           "3 lost",
                           "hand-over 0.500",
                           "first step 9.00 ms"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(table_of([](auto& fleet) { fleet.transfers.emplace(); }),
              Not(HasSubstr("first token")));
}

TEST(OperationsLines, SayWhatHappened) {
  const std::string text = table_of([](auto& fleet) { fleet.operations = busy_day(); });
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
  all.updates = test::two_updates();
  all.retries.emplace();
  const std::string text = table_of([&](auto& fleet) { fleet.operations = all; });
  EXPECT_THAT(text,
              HasSubstr("update       4 of 4 instances replaced from 60.0 s on, over after "));
  EXPECT_THAT(text, HasSubstr("5 requests lost, 2 of them sent again"));
  EXPECT_THAT(text,
              HasSubstr("decode 1 of 2 instances replaced from 60.0 s on, not over by the end, "
                        "1 new instance still starting"));
}

TEST(OperationsLines, SayItOfEachPool) {
  metrics::OperationsSummary all;
  all.scaling = metrics::ScalingSummary{
      .policy = "wva",
      .pools = {"cheap", "dear", "idle"},
      .events = {{.at_s = 15.0, .pool = "cheap", .from = 2, .to = 3, .reason = "up"},
                 {.at_s = 30.0, .pool = "dear", .from = 4, .to = 3, .reason = "down"}}};
  EXPECT_THAT(table_of([&](auto& fleet) { fleet.operations = all; }),
              HasSubstr("cheap 1 time up, 0 down"));
  EXPECT_THAT(table_of([&](auto& fleet) { fleet.operations = all; }),
              HasSubstr("dear 0 times up, 1 down"));
  EXPECT_THAT(table_of([&](auto& fleet) { fleet.operations = all; }), Not(HasSubstr("idle")));
  all.scaling->events.clear();
  EXPECT_THAT(table_of([&](auto& fleet) { fleet.operations = all; }), HasSubstr("wva   no change"));
}

}  // namespace
}  // namespace ridgeline::verbs
