#include "engine/instance_group.hpp"

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::engine {
namespace {

/// Two ranks whose frontends take 100 us for a request; steps of 1,010 us for one token.
class TwoRanks : public testing::Test {
 protected:
  TwoRanks()
      : options_(test::tiny_options("0.28")),
        path_(slow_frontend()),
        first_(make(0)),
        second_(make(1)),
        group_({first_.get(), second_.get()}) {}

  static RequestPath slow_frontend() {
    RequestPath path;
    path.frontend = core::Duration::microseconds(100);
    return path;
  }

  static core::SimTime after_us(std::int64_t microseconds) {
    return core::SimTime::at(core::Duration::microseconds(microseconds));
  }

  test::RecordingSink sink_;
  EngineOptions options_;
  RequestPath path_;
  HostTime host_;
  test::LinearModel model_;
  std::unique_ptr<Instance> first_;
  std::unique_ptr<Instance> second_;
  InstanceGroup group_;

 private:
  std::unique_ptr<Instance> make(core::InstanceId::Rep id) {
    return std::make_unique<Instance>(InstanceInputs{
        .engine = {.options = options_, .model = model_, .host = host_, .sink = sink_},
        .path = path_,
        .id = core::InstanceId(id),
        .in_lock_step = true});
  }
};

TEST_F(TwoRanks, RequestsReachEachByItsOwnFrontend) {
  second_->submit(test::tiny_request(0, 1, 2));
  EXPECT_EQ(group_.next_visible(), after_us(100));
  EXPECT_EQ(group_.advance(after_us(500), false, test::kNoBudget), Pause::kLimit);
  EXPECT_EQ(group_.next_visible(), after_us(1110));
  EXPECT_EQ(first_->next_instant(), after_us(1110)) << "a dummy batch";
  EXPECT_EQ(group_.advance(core::SimTime::never(), true, test::kNoBudget), Pause::kCompletion);
  EXPECT_EQ(first_->now(), after_us(100 + 2 * 1010));
  ASSERT_EQ(sink_.requests.size(), 1U);
  EXPECT_EQ(sink_.requests[0].instance, core::InstanceId(1));
  EXPECT_EQ(group_.advance(core::SimTime::never(), true, test::kNoBudget), Pause::kIdle);
  EXPECT_EQ(group_.steps_of(0).dummy_steps, group_.steps_of(1).dummy_steps + 2);
}

TEST_F(TwoRanks, ARefusedRequestPausesTheGroup) {
  first_->submit(test::tiny_request(0, 100, 2));  // Longer than max_model_len.
  EXPECT_EQ(group_.advance(core::SimTime::never(), true, test::kNoBudget), Pause::kCompletion);
  EXPECT_EQ(sink_.requests.front().outcome, domain::Outcome::kRejected);
  EXPECT_EQ(group_.advance(core::SimTime::never(), true, test::kNoBudget), Pause::kIdle);
  EXPECT_EQ(first_->totals().steps, 0);
}

}  // namespace
}  // namespace ridgeline::engine
