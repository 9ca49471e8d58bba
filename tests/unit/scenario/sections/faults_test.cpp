#include "scenario/sections/faults.hpp"

#include <optional>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/faults/fault.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {
namespace {

using core::Duration;
using faults::FaultKind;

core::Result<FaultSettings> read(const std::string& yaml) {
  return fault_settings(*document::parse_yaml(yaml, "test.yaml"));
}

TEST(FaultSettings, TextsAndMapsSayTheSame) {
  const auto texts = read(
      "[crash@60s+300s:3, hang@1m:0, slowdown@10s+5s:2x1.5, gateway-restart@9s, scrape-loss@1s:1, "
      "link-down@2s+1s:1, link-degraded@2sx0.5]");
  const auto maps = read(
      "[{kind: crash, at: 60s, restart_after: 300s, instance: 3}, {kind: hang, at: 60s, instance: "
      "0},"
      "{kind: slowdown, at: 10s, lasts: 5s, instance: 2, factor: 1.5},"
      "{kind: gateway-restart, at: 9s}, {kind: scrape-loss, at: 1s, instance: 1},"
      "{kind: link-down, at: 2s, lasts: 1s, host: 1}, {kind: link-degraded, at: 2s, factor: 0.5}]");
  ASSERT_TRUE(texts.has_value());
  ASSERT_TRUE(maps.has_value());
  ASSERT_EQ(texts->listed.size(), 7);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(texts->listed[i].fault, maps->listed[i].fault) << i;
  }
  EXPECT_EQ(texts->listed[0].fault,
            (faults::Fault{.kind = FaultKind::kCrash,
                           .at = core::SimTime::at(Duration::seconds(60)),
                           .instance = core::InstanceId(3),
                           .lasts = Duration::seconds(300)}));
  EXPECT_EQ(texts->listed[2].fault.factor_thousandths, 1500);
  EXPECT_EQ(texts->listed[5].fault.host, 1);
  EXPECT_EQ(texts->listed[6].fault.host, std::nullopt);
}

TEST(FaultSettings, SharesAndChance) {
  const auto settings = read(
      "[{kind: slowdown, share: 0.25, at: 0s, factor: 2}, crash~1h/5m,"
      "{kind: gateway-restart, at: 1s, requests: cut}]");
  ASSERT_TRUE(settings.has_value());
  EXPECT_EQ(settings->listed[0].share, 0.25);
  EXPECT_TRUE(settings->listed[1].fault.cuts_requests);
  ASSERT_EQ(settings->random.size(), 1U);
  EXPECT_EQ(settings->random[0].mtbf, Duration::seconds(3600));
  EXPECT_EQ(settings->random[0].mttr, Duration::seconds(300));
  EXPECT_TRUE(fault_settings(std::nullopt)->listed.empty());
}

TEST(FaultSettings, NodesAndLinksFailByChance) {
  const auto settings = read(
      "[node-loss~720h/10m, hang~2h/1m, link-degraded~10h/30sx0.25,"
      "{kind: link-down, mtbf: 100h, mttr: 5s}]");
  ASSERT_TRUE(settings.has_value());
  ASSERT_EQ(settings->random.size(), 4U);
  EXPECT_TRUE(settings->random[0].of_node);
  EXPECT_TRUE(settings->random[0].of_host());
  EXPECT_FALSE(settings->random[1].of_host());
  EXPECT_EQ(settings->random[2].factor_thousandths, 250);
  EXPECT_EQ(settings->random[3].kind, FaultKind::kLinkDown);
}

TEST(FaultSettings, LostEventsAreSentAgainOrForgotten) {
  const auto settings = read(
      "[event-loss@5s+2s:1, {kind: event-loss, instance: 0, at: 1s, lasts: 3s, recovery: forget}]");
  ASSERT_TRUE(settings.has_value());
  EXPECT_TRUE(settings->listed[0].fault.replays_events);
  EXPECT_FALSE(settings->listed[1].fault.replays_events);
  const EventLosses losses = event_losses(*settings);
  EXPECT_EQ(losses.longest, Duration::seconds(5));
  EXPECT_TRUE(losses.may_forget);
  EXPECT_EQ(event_losses(*read("[event-loss@5s:1]")).longest, Duration::max());
}

TEST(FaultSettings, NameWhatIsWrongAndWhere) {
  const auto problem = [](const std::string& yaml) {
    const auto settings = read(yaml);
    return settings ? std::string("none")
                    : settings.error().front().field + ": " + settings.error().front().message;
  };
  EXPECT_EQ(problem("[crush@1s:0]"), "cluster.faults[0]: no fault 'crush'");
  EXPECT_EQ(problem("[crash@1s:0, 7]"), "cluster.faults[1]: found 7, expected a fault");
  EXPECT_THAT(problem("[{kind: crash, at: 1s, instance: 0, lasts: 5s}]"),
              testing::HasSubstr("a crash has restart_after, not lasts"));
  EXPECT_THAT(problem("[{kind: hang, at: 1s, instance: 0, restart_after: 5s}]"),
              testing::HasSubstr("restart_after is of a crash"));
  EXPECT_THAT(problem("[{kind: crash, at: 1s, instance: 0, share: 0.5}]"),
              testing::HasSubstr("has an instance and a share"));
  EXPECT_THAT(problem("[crash@1s:0x2]"), testing::HasSubstr("a factor is of a slowdown"));
  EXPECT_THAT(problem("[{kind: gateway-restart, at: 1s, instance: 0}]"),
              testing::HasSubstr("a gateway's restart has no instance"));
  EXPECT_THAT(problem("[{kind: link-down, at: 1s, lasts: 1s, instance: 0}]"),
              testing::HasSubstr("strikes a host's card"));
  EXPECT_THAT(problem("[link-down@1s:0]"), testing::HasSubstr("missing: lasts"));
  EXPECT_THAT(problem("[link-down@1s+1s:0x0.5]"), testing::HasSubstr("has no factor"));
  EXPECT_THAT(problem("[link-degraded@1s:0]"), testing::HasSubstr("0.001 to 0.999"));
  EXPECT_THAT(problem("[link-degraded@1s:0x2]"), testing::HasSubstr("0.001 to 0.999"));
  EXPECT_THAT(problem("[{kind: crash, mtbf: 1h}]"), testing::HasSubstr("mtbf and mttr"));
  EXPECT_THAT(problem("[crash~1h/5m, crash~2h/5m]"),
              testing::HasSubstr("comes by chance in an entry before"));
  EXPECT_THAT(problem("[slowdown~1h/5m]"), testing::HasSubstr("come by chance, other faults"));
  EXPECT_THAT(problem("[link-degraded~1h/5m]"), testing::HasSubstr("0.001 to 0.999"));
  EXPECT_THAT(problem("[link-down~1h/5mx0.5]"), testing::HasSubstr("is of a degraded link"));
  EXPECT_THAT(problem("[{kind: crash, at: 1s, instance: 0, recovery: replay}]"),
              testing::HasSubstr("recovery is of an event-loss"));
  for (const char* const none : {"slowdown@1s+0s:0x2",
                                 "hang@1s+0:0",
                                 "scrape-loss@1s+0ms:0",
                                 "{kind: event-loss, at: 1s, lasts: 0s, instance: 0}",
                                 "link-down@1s+0s:0",
                                 "link-degraded@1s+0s:0x0.5"}) {
    EXPECT_EQ(
        problem(fmt::format("[{}]", none)),
        "cluster.faults[0]: found lasts 0s, which would change nothing, expected more than 0");
  }
  EXPECT_THAT(problem("[hang~1h/0s]"), testing::HasSubstr("found mttr 0s"));
  EXPECT_EQ(problem("[crash@1s+0s:0, crash~1h/0s, 'node-loss@1s+0s:0']"), "none");
  EXPECT_THAT(problem("[{kind: crash, instance: 1}]"), testing::HasSubstr("missing: at"));
  EXPECT_THAT(problem("[{kind: crash, at: 1s, instance: 1, speed: 3}]"),
              testing::HasSubstr("speed"));
}

}  // namespace
}  // namespace ridgeline::scenario
