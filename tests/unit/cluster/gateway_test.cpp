#include "cluster/gateway.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/decision.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

core::SimTime ms(std::int64_t count) {
  return core::SimTime::at(core::Duration::milliseconds(count));
}

domain::Request asked(std::uint32_t id, std::int64_t prompt = 100) {
  domain::Request one;
  one.id = core::RequestId(id);
  one.prompt_tokens = core::Tokens(prompt);
  return one;
}

/// Takes the instance with the fewest waiting requests by its gauge, the first of several.
class ByGauge final : public routing::Router {
 public:
  [[nodiscard]] routing::Needs needs() const override { return {.gauges = true}; }
  [[nodiscard]] routing::Pick pick(const routing::RouteInput& input,
                                   core::RngStream& /*draws*/) override {
    const routing::InstanceView* best = &input.instances.front();
    for (const auto& view : input.instances) {
      best = view.gauges.waiting < best->gauges.waiting ? &view : best;
    }
    return {.instance = best->id};
  }
};

TEST(Gateway, LearnsOfAnEndOneNoticeLatencyLater) {
  Gateway gateway(routing::maker_of("least-request")({}),
                  {.num_instances = 2},
                  {.notice_latency = core::Duration::milliseconds(5)},
                  0);
  const auto first = *gateway.route(asked(0), ms(0));
  const auto second = *gateway.route(asked(1), ms(1));
  EXPECT_NE(first.instance, second.instance);
  gateway.note_end(first, false, ms(2));
  EXPECT_EQ(gateway.views()[first.instance.value()].own.requests, 1);
  EXPECT_EQ(gateway.views()[first.instance.value()].true_requests, 0);
  // At 6 ms both still count one request; at 7 ms the first is known to have ended.
  static_cast<void>(gateway.route(asked(2), ms(6)));
  EXPECT_EQ(gateway.totals().ties, 2);
}

TEST(Gateway, CountsTokensUntilTheirFirstTokenAndTheirEnd) {
  Gateway gateway(routing::maker_of("least-request")({}), {.num_instances = 2}, {}, 0);
  const auto sent = *gateway.route(asked(0, 300), ms(0));
  const std::size_t at = sent.instance.value();
  EXPECT_EQ(gateway.views()[at].own,
            (routing::OwnCounters{.requests = 1, .tokens = 300, .prefill_tokens = 300}));
  gateway.note_first_token(sent, ms(1));
  gateway.note_end(sent, true, ms(3));
  static_cast<void>(gateway.route(asked(1, 7), ms(2)));
  EXPECT_EQ(gateway.views()[at].own,
            (routing::OwnCounters{.requests = 1, .tokens = 300, .prefill_tokens = 0}));
}

/// Instances whose gauges say at which millisecond they were read, and count it.
class Clocks final : public GaugeSource {
 public:
  [[nodiscard]] routing::Gauges gauges(core::InstanceId /*id*/, core::SimTime at) override {
    ++looks;
    return {.waiting = at.count() / ms(1).count()};
  }
  [[nodiscard]] bool is_still(core::InstanceId /*id*/) const override { return still; }

  std::int64_t looks = 0;
  bool still = false;
};

/// A gateway that reads two of them every 50 ms.
std::unique_ptr<Gateway> reading_from(Clocks& clocks, bool each = false) {
  auto gateway =
      std::make_unique<Gateway>(std::make_unique<ByGauge>(),
                                Gateway::Instances{.num_instances = 2},
                                GatewayTimes{.refresh_interval = core::Duration::milliseconds(50)},
                                0);
  gateway->read_gauges_from(clocks, each);
  return gateway;
}

TEST(Gateway, ReadsEachInstanceOnItsOwnPhase) {
  Clocks clocks;
  const auto made = reading_from(clocks);
  Gateway& gateway = *made;
  EXPECT_EQ(gateway.next_reading(true), ms(25));
  gateway.pass(ms(60));
  // The first was read at 25 ms, the second at 50, which shows more.
  // Until the next reading every arrival goes to one instance: the herd.
  for (std::uint32_t id = 0; id < 5; ++id) {
    EXPECT_EQ(gateway.route(asked(id), ms(60))->instance, core::InstanceId(0));
  }
  EXPECT_EQ(gateway.totals().gauge_age, core::Duration::milliseconds(175));  // 5 times 35 ms
  EXPECT_EQ(gateway.views()[1].gauges.waiting, 50);
  EXPECT_EQ(gateway.views()[1].gauges_as_of, ms(50));
  EXPECT_EQ(gateway.next_reading(true), ms(75));
}

TEST(Gateway, OfManyReadingsTakesTheLastThatCanTellSomething) {
  Clocks clocks;
  const auto made = reading_from(clocks);
  Gateway& gateway = *made;
  clocks.still = true;
  gateway.pass(ms(1'000'010));
  static_cast<void>(gateway.ready_views(ms(1'000'010)));
  EXPECT_EQ(clocks.looks, 2);
  EXPECT_EQ(gateway.views()[0].gauges_as_of, ms(999'975));
  EXPECT_EQ(gateway.views()[1].gauges.waiting, 1'000'000);
  // Nothing was done to them: what they show is known, but for how old it is.
  EXPECT_EQ(gateway.next_reading(false), core::SimTime::never());
  EXPECT_EQ(gateway.next_reading(true), ms(1'000'025));
  gateway.pass(ms(2'000'010));
  static_cast<void>(gateway.ready_views(ms(2'000'010)));
  EXPECT_EQ(clocks.looks, 2);
  EXPECT_EQ(gateway.views()[0].gauges_as_of, ms(1'999'975));
  EXPECT_EQ(gateway.views()[1].gauges.waiting, 1'000'000);
  gateway.note_gauges_change(core::InstanceId(1));
  EXPECT_EQ(gateway.next_reading(false), ms(2'000'050));
  gateway.pass(ms(2'000'060));
  static_cast<void>(gateway.ready_views(ms(2'000'060)));
  EXPECT_EQ(clocks.looks, 3);
  EXPECT_EQ(gateway.views()[1].gauges.waiting, 2'000'050);
}

TEST(Gateway, ReadsBeforeAnInstanceChanges) {
  Clocks clocks;
  const auto made = reading_from(clocks);
  Gateway& gateway = *made;
  gateway.pass(ms(110));
  gateway.read_gauges(core::InstanceId(1), ms(100));  // To 100 ms: that of 100 ms may wait.
  EXPECT_EQ(clocks.looks, 0);
  gateway.read_gauges(core::InstanceId(1));
  EXPECT_EQ(gateway.views()[1].gauges.waiting, 100);
  EXPECT_EQ(gateway.views()[0].gauges_as_of, ms(0));
  // Each of them, in its turn, once.
  static_cast<void>(gateway.ready_views(ms(110)));
  EXPECT_EQ(clocks.looks, 2);
  EXPECT_EQ(gateway.views()[0].gauges_as_of, ms(75));
}

TEST(Gateway, LostGaugesGrowOldAndARestartForgetsThem) {
  Clocks clocks;
  const auto made = reading_from(clocks);
  Gateway& gateway = *made;
  gateway.pass(ms(110));
  gateway.set_readable(core::InstanceId(0), false);  // What came before has come.
  EXPECT_EQ(gateway.views()[0].gauges_as_of, ms(75));
  gateway.pass(ms(300));
  EXPECT_EQ(gateway.next_reading(true), ms(50));
  static_cast<void>(gateway.ready_views(ms(300)));
  EXPECT_EQ(gateway.views()[0].gauges_as_of, ms(75));
  EXPECT_EQ(gateway.views()[1].gauges_as_of, ms(250));
  gateway.set_readable(core::InstanceId(0), true);
  EXPECT_EQ(gateway.next_reading(false), ms(300));
  gateway.pass(ms(340));
  Gateway::Routers routers;
  routers.push_back(std::make_unique<ByGauge>());
  gateway.restart(std::move(routers), ms(340));
  EXPECT_EQ(gateway.views()[0].gauges.waiting, 0);
  EXPECT_EQ(gateway.views()[0].gauges_as_of, ms(340));
  gateway.pass(ms(351));
  static_cast<void>(gateway.ready_views(ms(351)));
  EXPECT_EQ(gateway.views()[0].gauges_as_of, ms(340));
  EXPECT_EQ(gateway.views()[1].gauges.waiting, 350);
}

/// What a gateway asks of a cache as events come, are lost, and come again.
TEST(Gateway, LostEventsAreSentAgainOrForgotten) {
  Gateway gateway((*routing::find_router("llm-d-precise"))->make({}),
                  {.num_instances = 2},
                  {.kv_events_delay = core::Duration::milliseconds(5)},
                  0);
  Gateway::Reported known;
  gateway.look_at_caches(
      [&](const domain::Request&, core::InstanceId id, const Gateway::Reported& reported) {
        known = id == core::InstanceId(0) ? reported : known;
        return core::Tokens(0);
      });
  std::uint32_t id = 0;
  const auto known_at = [&](std::int64_t now) {
    domain::Request one = asked(id++);
    one.prompt = {{1, one.prompt_tokens}};
    static_cast<void>(gateway.route(one, ms(now)));
    return std::pair(known.as_of, known.since);
  };
  using Known = std::pair<core::SimTime, core::SimTime>;
  EXPECT_EQ(known_at(20), Known(ms(15), {}));
  gateway.begin_event_loss(core::InstanceId(0), ms(20));
  EXPECT_EQ(known_at(24), Known(ms(19), {}));  // They were on their way.
  EXPECT_EQ(known_at(30), Known(ms(20), {}));
  gateway.end_event_loss(core::InstanceId(0), ms(40), true);
  EXPECT_EQ(known_at(42), Known(ms(20), {}));
  EXPECT_EQ(known_at(46), Known(ms(41), {}));
  gateway.begin_event_loss(core::InstanceId(0), ms(50));
  gateway.end_event_loss(core::InstanceId(0), ms(60), false);
  EXPECT_EQ(known_at(62), Known(ms(50), {}));
  EXPECT_EQ(known_at(66), Known(ms(61), ms(60)));
  EXPECT_EQ(known_at(90), Known(ms(85), ms(60)));
}

TEST(Gateway, ChoosesAmongTheReadyInstancesAlone) {
  Gateway gateway(
      routing::maker_of("round-robin")({}), {.num_instances = 3, .may_change = true}, {}, 0);
  gateway.set_ready(core::InstanceId(1), false, ms(1));
  for (std::uint32_t id = 0; id < 6; ++id) {
    EXPECT_NE(gateway.route(asked(id), ms(0))->instance, core::InstanceId(1));
  }
  gateway.set_ready(core::InstanceId(0), false, ms(1));
  EXPECT_EQ(gateway.route(asked(6), ms(1))->instance, core::InstanceId(2));
  gateway.set_ready(core::InstanceId(2), false, ms(1));
  EXPECT_FALSE(gateway.route(asked(7), ms(1)).has_value());
  EXPECT_EQ(gateway.totals().decisions, 7);
}

TEST(Gateway, ARequestMayNameItsInstance) {
  Gateway gateway(
      routing::maker_of("least-request")({}), {.num_instances = 3, .may_change = true}, {}, 0);
  auto request = asked(0);
  request.rank = 2;
  for (core::RequestId::Rep id = 0; id < 3; ++id) {
    request.id = core::RequestId(id);
    EXPECT_EQ(gateway.route(request, ms(0))->instance, core::InstanceId(2));
  }
  EXPECT_EQ(gateway.views()[2].own.requests, 3);
  // One that is not there, or does not exist, leaves the choice to the policy.
  gateway.set_ready(core::InstanceId(2), false, ms(1));
  request.id = core::RequestId(3);
  EXPECT_NE(gateway.route(request, ms(1))->instance, core::InstanceId(2));
  request.id = core::RequestId(4);
  request.rank = 7;
  EXPECT_TRUE(gateway.route(request, ms(1)).has_value());
}

TEST(Gateway, WithOneInstanceNeedsToKnowNothing) {
  const Gateway gateway(std::make_unique<ByGauge>(), {.num_instances = 1}, {}, 0);
  EXPECT_TRUE(gateway.needs().nothing());
  EXPECT_EQ(gateway.next_reading(true), core::SimTime::never());
}

TEST(Gateway, KeepsWhatSomethingElseReads) {
  Gateway gateway(routing::maker_of("round-robin")({}), {.num_instances = 2}, {}, 0);
  EXPECT_EQ(gateway.next_reading(true), core::SimTime::never());
  gateway.keep({.own = true, .gauges = true});
  EXPECT_EQ(gateway.next_reading(true), ms(25));
  EXPECT_TRUE(gateway.needs().own);
  Clocks clocks;
  gateway.read_gauges_from(clocks, false);
  gateway.pass(ms(30));
  EXPECT_EQ(gateway.ready_views(ms(30))[0].gauges.waiting, 25);
  EXPECT_EQ(gateway.num_changes(), 1);
  EXPECT_EQ(gateway.last_change(), ms(25));
  const auto sent = *gateway.route(asked(0), ms(40));
  gateway.note_end(sent, false, ms(41));
  EXPECT_EQ(gateway.next_notice(), ms(41));
  EXPECT_EQ(gateway.ready_views(ms(45))[0].own.requests, 0);
  EXPECT_EQ(gateway.num_changes(), 2);
  EXPECT_EQ(gateway.last_change(), ms(45));
  EXPECT_EQ(gateway.next_notice(), core::SimTime::never());
}

TEST(Gateway, SeveralCountEachTheirOwn) {
  Gateway::Routers routers;
  routers.push_back(routing::maker_of("least-request")({}));
  routers.push_back(routing::maker_of("least-request")({}));
  Gateway gateway(std::move(routers), {.num_instances = 2}, {}, 0, GatewaySplit::kSession);
  std::vector<Gateway::Counted> sent;
  std::int64_t of_second = 0;
  for (std::uint32_t id = 0; id < 40; ++id) {
    domain::Request request = asked(id);
    request.session = core::SessionId(id % 4);
    sent.push_back(*gateway.route(request, ms(0)));
    EXPECT_EQ(sent.back().gateway, sent[id % 4].gateway);  // A session keeps to its gateway.
    of_second += sent.back().gateway;
  }
  std::int64_t known = 0;  // To the first gateway, whose views these are.
  for (const routing::InstanceView& view : gateway.views()) {
    known += view.own.requests;
    EXPECT_NEAR(static_cast<double>(view.own.requests), static_cast<double>(40 - of_second) / 2, 1);
  }
  EXPECT_EQ(known, 40 - of_second);
  for (const Gateway::Counted& one : sent) {
    gateway.note_end(one, false, ms(1));
  }
  gateway.settle_counts();
}

TEST(Gateway, AConnectionKeepsToItsGateway) {
  Gateway::Routers routers;
  routers.push_back(routing::maker_of("random")({}));
  routers.push_back(routing::maker_of("random")({}));
  Gateway gateway(std::move(routers), {.num_instances = 2}, {}, 0, GatewaySplit::kConnection, 5);
  std::vector<std::uint32_t> of_connection;
  std::int64_t of_second = 0;
  for (std::uint32_t id = 0; id < 40; ++id) {
    of_connection.push_back(gateway.route(asked(id), ms(0))->gateway);
    EXPECT_EQ(of_connection[id], of_connection[id % 5]);
    of_second += of_connection[id];
  }
  EXPECT_GT(of_second, 0);
  EXPECT_LT(of_second, 40);
}

TEST(Gateway, HandsOutEachDecision) {
  struct Sink final : DecisionSink {
    std::vector<double> scores;
    routing::Reason reason = routing::Reason::kScore;
    core::SimTime as_of;
    void on_decision(const Decision& decision) override {
      scores.assign(decision.scores.begin(), decision.scores.end());
      reason = decision.pick.reason;
      as_of = decision.known_as_of(decision.instances.front());
    }
  } sink;
  Gateway gateway(routing::maker_of("least-request")({}),
                  {.num_instances = 3},
                  {.notice_latency = core::Duration::milliseconds(2)},
                  0);
  gateway.watch_decisions(&sink);
  const auto first = *gateway.route(asked(0), ms(10));
  static_cast<void>(gateway.route(asked(1), ms(10)));
  ASSERT_EQ(sink.scores.size(), 3U);
  EXPECT_EQ(sink.scores[first.instance.value()], -1.0);
  EXPECT_EQ(sink.reason, routing::Reason::kLoad);
  EXPECT_EQ(sink.as_of, ms(8));
  EXPECT_EQ(gateway.totals().by_reason[static_cast<std::size_t>(routing::Reason::kLoad)], 2);
}

}  // namespace
}  // namespace ridgeline::cluster
