#include "cluster/pools.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/cluster.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "engine/slowed_model.hpp"
#include "routing/by_group.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"
#include "support/routers.hpp"

namespace ridgeline::cluster {
namespace {

/// Pool 0: two instances with steps of 1 ms. Pool 1: one with steps of 3 ms. Requests with an even
/// number are for the first, with an odd one for the second, but that number 9 is for neither.
class TwoPools : public testing::Test {
 protected:
  TwoPools() {
    options_.async_scheduling = false;
    options_.num_gpu_blocks = core::Blocks(65);
    pools_ = {{.instances = 2, .options = &options_, .model = &fast_, .host = &host_},
              {.instances = 1, .options = &options_, .model = &slow_, .host = &host_}};
  }

  /// The records of ten requests that come at once, by number.
  std::vector<domain::RequestRecord> run() {
    test::RecordingSink sink;
    Cluster cluster(
        {.instance = {.engine = {.options = options_, .model = fast_, .host = host_, .sink = sink},
                      .path = path_,
                      .id = {}},
         .num_instances = 3,
         .router = routing::make_by_group(2, [] { return routing::maker_of("round-robin")({}); }),
         .times = {},
         .pools = pools_,
         .groups = {.members = {{true, false}, {false, true}},
                    .of = [](const domain::Request& request) {
                      return request.id.value() == 9 ? std::nullopt
                                                     : std::optional(request.id.value() % 2);
                    }}});
    for (std::uint32_t id = 0; id < 10; ++id) {
      domain::Request request;
      request.id = core::RequestId(id);
      request.prompt_tokens = core::Tokens(16);
      request.output_tokens = request.max_tokens = core::Tokens(1);
      cluster.submit(request);
    }
    EXPECT_EQ(cluster.advance(core::SimTime::never(), false, test::kNoBudget),
              engine::Pause::kIdle);
    std::ranges::sort(sink.requests, {}, &domain::RequestRecord::id);
    return sink.requests;
  }

  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
  test::LinearModel fast_ = test::LinearModel({.per_token = core::Duration()});
  test::LinearModel slow_ =
      test::LinearModel({.step = core::Duration::milliseconds(3), .per_token = core::Duration()});
  std::vector<InstancePool> pools_;
};

TEST_F(TwoPools, ServeTheirOwnRequestsAtTheirOwnSpeed) {
  const auto records = run();
  ASSERT_EQ(records.size(), 10);
  for (std::uint32_t id = 0; id < 9; ++id) {
    const bool is_first = id % 2 == 0;
    EXPECT_EQ(records[id].outcome, domain::Outcome::kFinished);
    EXPECT_EQ(records[id].instance, core::InstanceId(is_first ? id / 2 % 2 : 2));
    EXPECT_EQ(records[id].first_token,
              core::SimTime::at(core::Duration::milliseconds(is_first ? 1 : 3)));
  }
}

TEST_F(TwoPools, RefuseWhatNoneServes) {
  const auto records = run();
  EXPECT_EQ(records[9].outcome, domain::Outcome::kNoSuchModel);
  EXPECT_FALSE(records[9].instance.valid());
  EXPECT_EQ(records[9].queued, core::SimTime());
}

TEST_F(TwoPools, HaveInstancesOfDifferentPaceWhereTheyAreSpread) {
  pools_[0].spread = 0.3;
  const auto records = run();
  const core::SimTime at_pace = core::SimTime::at(core::Duration::milliseconds(1));
  EXPECT_NE(records[0].first_token, at_pace);
  EXPECT_NE(records[0].first_token, records[2].first_token);
  EXPECT_EQ(records[0].first_token, records[4].first_token);  // For good.
  EXPECT_EQ(records[1].first_token, core::SimTime::at(core::Duration::milliseconds(3)));
}

TEST(OwnPace, IsADrawOfMedianOneWithItsSpread) {
  constexpr std::uint32_t kDraws = 4000;
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint32_t id = 0; id < kDraws; ++id) {
    const engine::Slowdown pace = own_pace(0.1, core::InstanceId(id), 3);
    const double log = std::log(static_cast<double>(pace.thousandths) / engine::Slowdown::kWhole);
    sum += log;
    squares += log * log;
  }
  EXPECT_NEAR(sum / kDraws, 0.0, 0.005);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.1, 0.004);
  EXPECT_EQ(own_pace(0.0, core::InstanceId(1), 3), engine::Slowdown());
  EXPECT_EQ(own_pace(0.1, core::InstanceId(1), 3), own_pace(0.1, core::InstanceId(1), 3));
}

TEST(PoolsOfInstances, CountThemInOrder) {
  EXPECT_EQ(pools_of_instances({{.instances = 2}, {.instances = 1}}),
            (std::vector<std::size_t>{0, 0, 1}));
  EXPECT_TRUE(pools_of_instances({}).empty());
}

}  // namespace
}  // namespace ridgeline::cluster
