#include "cluster/admission/control.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/settings.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "routing/router.hpp"
#include "unit/cluster/admission/claims.hpp"

namespace ridgeline::admission {
namespace {

using test::ms;
using Verdict = Decision::Verdict;

/// Two instances that may have two requests in flight together.
class ControlOf : public testing::Test {
 protected:
  ControlOf() : views_(2) {
    settings_.saturation_detector = "concurrency-detector";
    settings_.max_concurrency = 1.0;
  }
  Control control() { return {settings_, tenants_, 1}; }
  static domain::Request request(std::uint32_t id, std::int32_t priority = 0) {
    domain::Request one;
    one.id = core::RequestId(id);
    one.priority = priority;
    one.prompt_tokens = core::Tokens(100);
    return one;
  }
  /// All that go now; each is in flight from then on.
  std::vector<std::uint32_t> send(Control& one, core::SimTime now) {
    std::vector<std::uint32_t> ids;
    while (const auto next = one.next(views_, now)) {
      ids.push_back(next->value());
      views_[ids.size() % 2].own.requests += 1;
    }
    return ids;
  }

  Settings settings_;
  domain::Tenants tenants_;
  std::vector<routing::InstanceView> views_;
};

TEST_F(ControlOf, WithoutAQueueAdmitsOrRejects) {
  settings_.policy = "priority";
  Control one = control();
  EXPECT_FALSE(one.queues());
  EXPECT_TRUE(one.needs().own);
  views_[0].own.requests = 2;
  // A request's own priority is the better the lower it is.
  EXPECT_EQ(one.arrive(request(0, -1), views_, ms(0)).verdict, Verdict::kAdmit);
  EXPECT_EQ(one.arrive(request(1, 1), views_, ms(0)).why, Reason::kSaturated);
  EXPECT_EQ(one.arrive(request(2, 1), {}, ms(0)).why, Reason::kSaturated);
  EXPECT_EQ(one.arrive(request(3), {}, ms(0)).verdict, Verdict::kAdmit);
  one.note_no_endpoint();
  EXPECT_EQ(one.totals().admitted, 1);
  EXPECT_EQ(one.totals().count(Reason::kSaturated), 2);
  EXPECT_EQ(one.totals().count(Reason::kNoEndpoint), 1);
}

TEST_F(ControlOf, ReadsNothingWhereNothingIsDecided) {
  settings_.flow_control = false;
  EXPECT_TRUE(control().needs().nothing());
}

TEST_F(ControlOf, SendsFromItsQueueWhileThereIsRoom) {
  settings_.flow_control = true;
  Control one = control();
  for (std::uint32_t id = 0; id < 4; ++id) {
    const Decision decision = one.arrive(request(id), views_, ms(0));
    EXPECT_EQ(decision.verdict, Verdict::kQueue);
    EXPECT_EQ(decision.place->band, 0);
  }
  EXPECT_THAT(send(one, ms(0)), testing::ElementsAre(0, 1));
  views_[0].own.requests -= 1;
  EXPECT_THAT(send(one, ms(5)), testing::ElementsAre(2));
  EXPECT_EQ(one.totals().admitted, 3);
  EXPECT_TRUE(one.remove(core::RequestId(3)));
  EXPECT_FALSE(one.remove(core::RequestId(3)));
  EXPECT_TRUE(one.empty());
}

TEST_F(ControlOf, WaitsWhereNoInstanceIsReady) {
  settings_.flow_control = true;
  Control one = control();
  EXPECT_EQ(one.arrive(request(0), {}, ms(0)).verdict, Verdict::kQueue);
  EXPECT_EQ(one.next({}, ms(0)), std::nullopt);
  EXPECT_EQ(one.next(views_, ms(1)), core::RequestId(0));
}

TEST_F(ControlOf, TicksAndSweepsAreMultiplesOfTheirIntervals) {
  settings_.flow_control = true;
  settings_.request_ttl = core::Duration::milliseconds(1500);
  Control one = control();
  EXPECT_EQ(one.tick_after(ms(3)), ms(3));
  EXPECT_EQ(one.tick_after(ms(3) + core::Duration::ticks(1)), ms(4));
  EXPECT_EQ(one.next_sweep(), core::SimTime::never());
  one.arrive(request(0), views_, ms(200));
  EXPECT_EQ(one.next_sweep(), ms(2000));
  EXPECT_THAT(one.sweep(ms(1699)), testing::IsEmpty());
  EXPECT_THAT(one.sweep(ms(1999)), testing::IsEmpty());
  EXPECT_THAT(one.sweep(ms(2000)), testing::ElementsAre(core::RequestId(0)));
  EXPECT_EQ(one.totals().count(Reason::kExpired), 1);
}

TEST_F(ControlOf, TenantsHavePrioritiesTimesAndRates) {
  tenants_ = domain::Tenants({{.name = "unused"}});
  settings_.policy = "priority";
  views_[0].own.requests = 2;
  Control one = control();
  EXPECT_EQ(one.arrive(request(0), views_, ms(0)).verdict, Verdict::kAdmit);
  domain::LabelSets sets;
  const auto set = sets.number_of({.values = {-1, 0, -1, -1, 0}});
  domain::Tenants limited({{.name = "a", .priority = -1, .requests_per_minute = 1}},
                          &sets,
                          [](std::int32_t /*label*/) { return "a"; });
  Control other(settings_, limited, 1);
  domain::Request of_a = request(1);
  of_a.label_set = set;
  EXPECT_EQ(other.arrive(of_a, views_, ms(0)).why, Reason::kSaturated);
  views_[0].own.requests = 0;
  EXPECT_EQ(other.arrive(of_a, views_, ms(0)).verdict, Verdict::kAdmit);
  EXPECT_EQ(other.arrive(of_a, views_, ms(0)).why, Reason::kRateLimit);
}

TEST_F(ControlOf, OutputCountsOnceItIsKnown) {
  domain::LabelSets sets;
  const core::LabelSetId of_tenant[] = {sets.number_of({.values = {-1, 0, -1, -1, 0}}),
                                        sets.number_of({.values = {-1, 1, -1, -1, 0}})};
  tenants_ = domain::Tenants({{.name = "0"}, {.name = "1"}}, &sets, [](std::int32_t label) {
    return std::to_string(label);
  });
  settings_.flow_control = true;
  settings_.fairness_policy = "vtc";
  Control one = control();
  for (std::uint32_t id = 0; id < 8; ++id) {
    domain::Request next = request(id);
    next.label_set = of_tenant[id % 2];
    one.arrive(next, views_, ms(0));
  }
  EXPECT_THAT(send(one, ms(0)), testing::ElementsAre(0, 1));
  one.note_end(core::RequestId(0), core::Tokens(100), ms(20));
  views_ = std::vector<routing::InstanceView>(2);
  // At 10 ms both have had 100 tokens; from 20 ms on the first has had 300.
  EXPECT_THAT(send(one, ms(10)), testing::ElementsAre(2, 3));
  views_ = std::vector<routing::InstanceView>(2);
  EXPECT_THAT(send(one, ms(20)), testing::ElementsAre(5, 7));
}

}  // namespace
}  // namespace ridgeline::admission
