#include "cluster/admission_part.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/settings.hpp"
#include "cluster/cluster.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

using domain::Outcome;
using engine::Pause;

core::SimTime at_ms(std::int64_t count) {
  return core::SimTime::at(core::Duration::milliseconds(count));
}

/// Instances of 64 seats whose steps take 1 ms whatever their batch; requests of eight tokens.
class AdmissionOf : public testing::Test {
 protected:
  AdmissionOf() {
    options_.max_num_seqs = 64;
    options_.num_gpu_blocks = core::Blocks(1025);
    options_.async_scheduling = false;
    settings_.flow_control = true;
    settings_.saturation_detector = "concurrency-detector";
  }

  std::unique_ptr<Cluster> cluster(std::int64_t instances = 1,
                                   const GatewayTimes& times = {},
                                   const PartMaker& other = {}) {
    const engine::InstanceInputs instance = {
        .engine = {.options = options_, .model = model_, .host = host_, .sink = sink_},
        .path = path_,
        .id = core::InstanceId(0)};
    std::vector<PartMaker> parts;
    if (other.make) {
      parts.push_back(other);
    }
    parts.push_back({.kind = PartKind::kAdmission, .make = [this](Fleet& fleet) {
                       auto part = std::make_unique<AdmissionPart>(fleet, settings_, tenants_, 1);
                       part_ = part.get();
                       return part;
                     }});
    return std::make_unique<Cluster>(ClusterInputs{.instance = instance,
                                                   .num_instances = instances,
                                                   .router = routing::maker_of("least-request")({}),
                                                   .times = times,
                                                   .parts = std::move(parts)});
  }
  static domain::Request request(std::uint32_t id,
                                 core::SimTime arrival,
                                 std::int32_t priority = 0) {
    domain::Request one;
    one.id = core::RequestId(id);
    one.arrival = arrival;
    one.prompt_tokens = core::Tokens(16);
    one.output_tokens = core::Tokens(8);
    one.max_tokens = one.output_tokens;
    one.priority = priority;
    return one;
  }
  [[nodiscard]] const domain::RequestRecord& record(std::uint32_t id) const {
    return *std::ranges::find(sink_.requests, core::RequestId(id), &domain::RequestRecord::id);
  }
  static void run(Cluster& cluster) {
    EXPECT_EQ(cluster.advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  }

  admission::Settings settings_;
  domain::Tenants tenants_;
  AdmissionPart* part_ = nullptr;
  test::RecordingSink sink_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
  test::LinearModel model_ = test::LinearModel({.per_token = core::Duration()});
};

TEST_F(AdmissionOf, RequestsWaitForRoomAndKeepTheirArrival) {
  settings_.max_concurrency = 2.0;
  const auto one = cluster();
  for (std::uint32_t id = 0; id < 5; ++id) {
    one->submit(request(id, at_ms(0)));
  }
  run(*one);
  ASSERT_EQ(sink_.requests.size(), 5);
  // Eight steps of 1 ms each; the next two start at the first tick after the end at 8 ms.
  EXPECT_EQ(record(1).gateway_wait, core::Duration());
  EXPECT_EQ(record(2).gateway_wait, core::Duration::milliseconds(9));
  EXPECT_EQ(record(2).queued, at_ms(9));
  EXPECT_EQ(record(2).arrival, at_ms(0));
  EXPECT_EQ(record(4).queued, at_ms(18));
  EXPECT_EQ(part_->totals().admitted, 5);
}

TEST_F(AdmissionOf, EvictionCutsOffTwoSheddableRequestsTheLowestAndNewestFirst) {
  settings_.max_concurrency = 4.0;
  settings_.eviction = true;
  const auto one = cluster();
  // vLLM's priorities are the better the lower: these are -1, -2, -2 and -1 here, then 0.
  const auto priorities = std::to_array<std::int32_t>({1, 2, 2, 1});
  for (std::uint32_t id = 0; id < 4; ++id) {
    one->submit(request(id, at_ms(0), priorities[id]));
  }
  one->submit(request(4, at_ms(2)));
  run(*one);
  // Both of -2 are cut off at 2 ms for the one that waits; the last that was sent is the first.
  EXPECT_EQ(record(2).outcome, Outcome::kAborted);
  EXPECT_EQ(record(1).outcome, Outcome::kAborted);
  EXPECT_EQ(record(0).outcome, Outcome::kFinished);
  EXPECT_EQ(record(3).outcome, Outcome::kFinished);
  EXPECT_EQ(part_->totals().evicted, 2);
  // Room is seen at the next tick.
  EXPECT_EQ(record(4).queued, at_ms(3));
}

TEST_F(AdmissionOf, NothingIsEvictedForOneThatMayBeShedItself) {
  settings_.max_concurrency = 1.0;
  settings_.eviction = true;
  const auto one = cluster();
  one->submit(request(0, at_ms(0), 2));
  one->submit(request(1, at_ms(2), 1));
  run(*one);
  EXPECT_EQ(record(0).outcome, Outcome::kFinished);
  EXPECT_EQ(part_->totals().evicted, 0);
}

/// inference-sim sends at most one request per tick, so that a backlog drains at 1000 a second.
TEST_F(AdmissionOf, W79ATickSendsAllThatTheInstancesHaveRoomFor) {
  settings_.max_concurrency = 40.0;
  const auto one = cluster();
  for (std::uint32_t id = 0; id < 120; ++id) {
    one->submit(request(id, at_ms(0)));
  }
  run(*one);
  for (std::uint32_t id = 40; id < 80; ++id) {
    EXPECT_EQ(record(id).queued, at_ms(9));
  }
  EXPECT_EQ(record(119).queued, at_ms(18));
}

/// In inference-sim a client's deadline does not count while its request waits at the gateway.
TEST_F(AdmissionOf, W16AClientsDeadlineEndsTheWaitAtTheGateway) {
  settings_.max_concurrency = 1.0;
  const auto one = cluster();
  for (std::uint32_t id = 0; id < 3; ++id) {
    one->submit(request(id, at_ms(0)));
  }
  EXPECT_EQ(one->advance(at_ms(4), false, test::kNoBudget), Pause::kLimit);
  one->abort(core::RequestId(1), at_ms(4));
  ASSERT_EQ(sink_.requests.size(), 1);
  EXPECT_EQ(record(1).outcome, Outcome::kAborted);
  EXPECT_EQ(record(1).queued, at_ms(4));
  EXPECT_FALSE(record(1).instance.valid());
  run(*one);
  EXPECT_EQ(record(2).queued, at_ms(9));  // The next in line took its place.
  EXPECT_EQ(part_->totals().admitted, 2);
}

/// In inference-sim a rejected request has no end: a closed loop's user vanishes with it.
TEST_F(AdmissionOf, W15ARejectedRequestEndsSoThatAClosedLoopGoesOn) {
  settings_.flow_control = false;
  settings_.policy = "priority";
  settings_.max_concurrency = 1.0;
  const auto one = cluster();
  one->submit(request(0, at_ms(0)));
  one->submit(request(1, at_ms(2), 1));
  one->submit(request(2, at_ms(3), 1));
  EXPECT_EQ(one->advance(core::SimTime::never(), true, test::kNoBudget), Pause::kCompletion);
  ASSERT_EQ(sink_.requests.size(), 1);
  EXPECT_EQ(record(1).outcome, Outcome::kRejected);
  EXPECT_EQ(record(1).queued, at_ms(2));
  EXPECT_EQ(one->now(), at_ms(2));
  EXPECT_EQ(one->advance(core::SimTime::never(), true, test::kNoBudget), Pause::kCompletion);
  EXPECT_EQ(record(2).outcome, Outcome::kRejected);
  EXPECT_EQ(one->advance(core::SimTime::never(), true, test::kNoBudget), Pause::kCompletion);
  EXPECT_EQ(record(0).outcome, Outcome::kFinished);
  EXPECT_EQ(part_->totals().count(admission::Reason::kSaturated), 2);
}

TEST_F(AdmissionOf, RequestsExpireAtTheSweepAfterTheirTime) {
  settings_.max_concurrency = 1.0;
  settings_.request_ttl = core::Duration::milliseconds(5);
  settings_.expiry_interval = core::Duration::milliseconds(2);
  settings_.per_band_requests = 2;
  const auto one = cluster();
  for (std::uint32_t id = 0; id < 4; ++id) {
    one->submit(request(id, at_ms(0)));
  }
  run(*one);
  EXPECT_EQ(record(0).outcome, Outcome::kFinished);
  EXPECT_EQ(record(1).outcome, Outcome::kExpired);
  EXPECT_EQ(record(1).queued, at_ms(6));
  EXPECT_EQ(record(2).outcome, Outcome::kExpired);
  EXPECT_EQ(record(3).outcome, Outcome::kRejected);  // Two wait already.
  EXPECT_EQ(record(3).queued, at_ms(0));
  EXPECT_EQ(part_->totals().count(admission::Reason::kExpired), 2);
  EXPECT_EQ(part_->totals().count(admission::Reason::kQueueFull), 1);
}

TEST_F(AdmissionOf, ARoomIsKnownOneNoticeLatencyLater) {
  settings_.max_concurrency = 1.0;
  const auto one = cluster(1, {.notice_latency = core::Duration::microseconds(2500)});
  one->submit(request(0, at_ms(0)));
  one->submit(request(1, at_ms(0)));
  run(*one);
  EXPECT_EQ(record(1).queued, at_ms(11));  // 8 + 2.5 ms, and the tick after that.
}

TEST_F(AdmissionOf, GaugesOpenTheQueueAtTheTickAfterTheirReading) {
  settings_.saturation_detector = "utilization-detector";
  settings_.queue_depth_threshold = 1.0;
  options_.max_num_seqs = 1;
  const auto one = cluster(1, {.refresh_interval = core::Duration::microseconds(2500)});
  one->submit(request(0, at_ms(0)));
  one->submit(request(1, at_ms(0)));
  one->submit(request(2, at_ms(3)));
  run(*one);
  // At 2.5 ms one waits in the engine: the third waits at the gateway until a reading shows none:
  // at 10 ms, after the first has ended at 8.
  EXPECT_EQ(record(2).queued, at_ms(10));
}

TEST_F(AdmissionOf, TenantsWaitInBandsOfTheirPriority) {
  domain::LabelSets sets;
  const auto of_tenant = [&](std::int32_t tenant) {
    domain::LabelSet set;
    set.of(domain::Label::kTenant) = tenant;
    return sets.number_of(set);
  };
  tenants_ = domain::Tenants({{.name = "0", .priority = -1}, {.name = "1", .priority = 2}},
                             &sets,
                             [](std::int32_t label) { return std::to_string(label); });
  settings_.max_concurrency = 1.0;
  const auto one = cluster();
  for (std::uint32_t id = 0; id < 4; ++id) {
    domain::Request next = request(id, at_ms(0));
    next.label_set = of_tenant(id == 3 ? 1 : 0);
    one->submit(next);
  }
  run(*one);
  EXPECT_EQ(record(3).queued, at_ms(9));
  EXPECT_EQ(record(1).queued, at_ms(18));
}

/// Takes the only instance away at 5 ms.
class Taker final : public Part {
 public:
  explicit Taker(Fleet& fleet) : fleet_(fleet) {}
  [[nodiscard]] core::SimTime next_instant() const override { return next_; }
  void act(core::SimTime now) override {
    fleet_.gateway().set_ready(core::InstanceId(0), now >= at_ms(20), now);
    next_ = next_ == at_ms(5) ? at_ms(20) : core::SimTime::never();
  }

 private:
  Fleet& fleet_;
  core::SimTime next_ = at_ms(5);
};

TEST_F(AdmissionOf, WithoutAnInstanceRequestsAreRefusedOrWait) {
  for (const bool flow_control : {false, true}) {
    settings_.flow_control = flow_control;
    settings_.policy = "priority";
    const auto one = cluster(1, {}, {.kind = PartKind::kFaults, .make = [](Fleet& fleet) {
                                       return std::make_unique<Taker>(fleet);
                                     }});
    sink_.requests.clear();
    one->submit(request(0, at_ms(6)));
    run(*one);
    EXPECT_EQ(record(0).outcome, flow_control ? Outcome::kFinished : Outcome::kRejected);
    EXPECT_EQ(record(0).queued, flow_control ? at_ms(20) : at_ms(6));
    EXPECT_EQ(part_->totals().count(admission::Reason::kNoEndpoint), flow_control ? 0 : 1);
    EXPECT_EQ(part_->totals().admitted, flow_control ? 1 : 0);
  }
}

TEST_F(AdmissionOf, AnInterruptReportsWhatWaits) {
  settings_.max_concurrency = 1.0;
  const auto one = cluster();
  one->submit(request(0, at_ms(0)));
  one->submit(request(1, at_ms(0)));
  EXPECT_EQ(one->advance(at_ms(4), false, test::kNoBudget), Pause::kLimit);
  one->drop_all();
  ASSERT_EQ(sink_.requests.size(), 2);
  EXPECT_EQ(record(1).outcome, Outcome::kUnfinished);
}

}  // namespace
}  // namespace ridgeline::cluster
