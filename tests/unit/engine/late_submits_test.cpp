// An engine that may be handed requests late: how far it goes without them.
#include <cstdint>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline {
namespace {

constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSeats = 2;

core::SimTime at_us(std::int64_t count) {
  return core::SimTime::at(core::Duration::microseconds(count));
}

/// Two seats, and as many requests at the beginning as the test likes.
class LateSubmits : public testing::Test {
 protected:
  LateSubmits() {
    options_.max_num_seqs = kSeats;
    options_.max_num_batched_tokens = core::Tokens(512);
    options_.max_model_len = core::Tokens(400);
    options_.num_gpu_blocks = core::Blocks(100);
  }

  engine::Engine& start(std::int64_t requests, bool late) {
    engine_ = engine::make_fast_engine(
        {.options = options_, .model = model_, .host = host_, .sink = sink, .late_submits = late},
        true);
    for (std::int64_t i = 0; i < requests; ++i) {
      submit(core::SimTime());
    }
    return *engine_;
  }
  void submit(core::SimTime queued) {
    domain::Request request = test::tiny_request(next_id_++, 10, 20);
    request.arrival = queued;
    engine_->submit(request, queued);
  }

  test::RecordingSink sink;

 private:
  engine::EngineOptions options_;
  test::LinearModel model_;
  engine::HostTime host_;
  std::unique_ptr<engine::Engine> engine_;
  std::uint32_t next_id_ = 0;
};

TEST_F(LateSubmits, ALongQueueHidesWhoComesBehindIt) {
  engine::Engine& engine = start(10, true);
  EXPECT_EQ(engine.advance(at_us(1), false, kNoBudget), engine::Engine::Pause::kLimit);
  // As soon as fewer wait than could be let in with room for one more, it asks.
  EXPECT_LE(engine.num_waiting(), kSeats);
  EXPECT_GE(sink.requests.size(), 6U);
  submit(at_us(1));
  submit(engine.now());
  EXPECT_EQ(engine.advance(core::SimTime::never(), false, kNoBudget), engine::Engine::Pause::kIdle);
  EXPECT_EQ(sink.requests.size(), 12U);
}

TEST_F(LateSubmits, ARunIsNotCutWhereNobodyCanComeIn) {
  engine::Engine& engine = start(3, true);
  // Both seats are taken until 20 tokens have come: one arrival more changes nothing.
  EXPECT_EQ(engine.advance(at_us(1500), false, kNoBudget), engine::Engine::Pause::kLimit);
  EXPECT_GT(engine.now(), at_us(15'000));
  EXPECT_EQ(engine.num_waiting(), 1);
}

TEST_F(LateSubmits, AShortQueueHidesNobody) {
  engine::Engine& engine = start(1, true);
  EXPECT_EQ(engine.advance(at_us(5000), false, kNoBudget), engine::Engine::Pause::kLimit);
  // The batch of the next instant is not formed.
  EXPECT_GE(engine.now(), at_us(5000));
  EXPECT_LT(engine.now(), at_us(5000 + 2000));
  submit(at_us(5000));
  engine.advance(core::SimTime::never(), false, kNoBudget);
  EXPECT_LT(sink.requests[1].first_token, at_us(5000 + 4000));
}

TEST_F(LateSubmits, WhoDoesNotAskForItIsStoppedInTime) {
  engine::Engine& engine = start(10, false);
  EXPECT_EQ(engine.advance(at_us(1500), false, kNoBudget), engine::Engine::Pause::kLimit);
  EXPECT_LE(engine.now(), at_us(1500));
}

}  // namespace
}  // namespace ridgeline
