#include "engine/instance.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/options.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::engine {
namespace {

core::SimTime instant(std::int64_t count) {
  return core::SimTime::at(core::Duration::microseconds(count));
}

EngineOptions small_engine() {
  EngineOptions options;
  options.max_num_seqs = 2;
  options.num_gpu_blocks = core::Blocks(65);
  options.async_scheduling = false;
  return options;
}

domain::Request request(std::uint32_t id, std::int64_t arrival_us, std::int64_t prompt = 32) {
  domain::Request one;
  one.id = core::RequestId(id);
  one.arrival = instant(arrival_us);
  one.prompt_tokens = core::Tokens(prompt);
  one.output_tokens = core::Tokens(8);
  one.max_tokens = one.output_tokens;
  return one;
}

/// Steps of 1,000 us, whatever their batch; 10 us in the frontend for each request.
class InstanceOf : public testing::TestWithParam<EngineCore> {
 protected:
  InstanceOf() { path_.frontend = core::Duration::microseconds(10); }

  std::unique_ptr<Instance> instance(core::SimTime horizon = core::SimTime::last()) {
    return std::make_unique<Instance>(InstanceInputs{.engine = {.options = options_,
                                                                .model = model_,
                                                                .host = host_,
                                                                .sink = sink_,
                                                                .horizon = horizon,
                                                                .tokens = tokens_},
                                                     .path = path_,
                                                     .id = core::InstanceId(7),
                                                     .core = GetParam(),
                                                     .may_slow_down = may_slow_down_});
  }

  test::RecordingSink sink_;
  domain::TokenSink* tokens_ = nullptr;
  bool may_slow_down_ = false;
  EngineOptions options_ = small_engine();
  HostTime host_;
  RequestPath path_;
  test::LinearModel model_ = test::LinearModel({.per_token = core::Duration()});
};

TEST_P(InstanceOf, HandsTheTokensOfEachStepToItsSink) {
  struct Sink final : domain::TokenSink {
    void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) override {
      ends.push_back(end);
      last.assign(events.begin(), events.end());
    }
    std::vector<core::SimTime> ends;
    std::vector<domain::TokenEvent> last;
  } tokens;
  tokens_ = &tokens;
  const auto one = instance();
  one->submit(request(0, 0));
  one->submit(request(1, 0));
  one->advance(core::SimTime::never(), false, test::kNoBudget);
  ASSERT_EQ(sink_.requests.size(), 2);
  // 8 steps for the first request; the second enters a step later and ends one later.
  ASSERT_EQ(tokens.ends.size(), 9);
  EXPECT_EQ(tokens.ends.front(), instant(1010));
  EXPECT_EQ(tokens.ends.back(), instant(9010));
  EXPECT_EQ(tokens.last, (std::vector<domain::TokenEvent>{{core::RequestId(1), core::Tokens(1)}}));
}

TEST_P(InstanceOf, PassesRequestsThroughTheFrontendOneByOne) {
  const auto one = instance();
  one->submit(request(0, 0));
  one->submit(request(1, 0));
  EXPECT_EQ(one->next_instant(), instant(10));
  EXPECT_EQ(one->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  ASSERT_EQ(sink_.requests.size(), 2);
  EXPECT_EQ(sink_.requests[0].queued, instant(10));
  EXPECT_EQ(sink_.requests[1].queued, instant(20));
  EXPECT_EQ(sink_.requests[0].instance, core::InstanceId(7));
}

TEST_P(InstanceOf, KnowsItsGauges) {
  const auto one = instance();
  for (std::uint32_t id = 0; id < 3; ++id) {
    one->submit(request(id, 0, 32 + id));
  }
  // At 10 us the first is scheduled; the others wait for the end of its step at 1,010 us.
  ASSERT_EQ(one->advance(instant(500), false, test::kNoBudget), Pause::kLimit);
  const InstanceState early = one->state(instant(500));
  EXPECT_EQ(early.at, instant(500));
  EXPECT_EQ(early.running, 1);
  EXPECT_EQ(early.waiting, 2);
  EXPECT_EQ(early.queued_prompt_tokens, core::Tokens(33 + 34));
  EXPECT_EQ(early.used_blocks, core::Blocks(2));
  EXPECT_EQ(early.free_blocks, core::Blocks(64 - 2));
  EXPECT_EQ(one->next_instant(), instant(1010));
  EXPECT_EQ(one->next_visible(), instant(1010));

  // Two seats: the third waits until one of the others has ended.
  ASSERT_EQ(one->advance(instant(1500), false, test::kNoBudget), Pause::kLimit);
  const InstanceState later = one->state(instant(1500));
  EXPECT_EQ(later.running, 2);
  EXPECT_EQ(later.waiting, 1);
  EXPECT_EQ(later.queued_prompt_tokens, core::Tokens(34));
}

TEST_P(InstanceOf, IsNeverVisibleBeforeItsBound) {
  const auto one = instance();
  for (std::uint32_t id = 0; id < 6; ++id) {
    one->submit(request(id, 700 * id));
  }
  std::size_t seen = 0;
  while (one->next_instant() != core::SimTime::never()) {
    const core::SimTime bound = one->next_visible();
    EXPECT_GE(bound, one->next_instant());
    one->advance(bound, false, test::kNoBudget);
    EXPECT_EQ(sink_.requests.size(), seen);
    one->advance(
        core::SimTime::at(bound.since_start() + core::Duration::ticks(1)), false, test::kNoBudget);
    seen = sink_.requests.size();
  }
  EXPECT_EQ(seen, 6);
}

TEST_P(InstanceOf, KnowsWhatOfAPromptIsCached) {
  options_.enable_prefix_caching = true;
  const auto one = instance();
  const auto sharing = [&](std::uint32_t id, std::int64_t arrival) {
    domain::Request shared = request(id, arrival, 80);
    shared.prompt = domain::Prompt({{.content = 5, .length = core::Tokens(48)}});
    return shared;
  };
  EXPECT_EQ(one->cached_prefix(sharing(0, 0)), core::Tokens(0));
  one->submit(sharing(0, 0));
  one->advance(instant(1500), false, test::kNoBudget);
  // 48 tokens are three whole blocks; what follows is each request's own.
  EXPECT_EQ(one->cached_prefix(sharing(1, 1500)), core::Tokens(48));
  EXPECT_EQ(one->cached_prefix(request(2, 1500)), core::Tokens(0));
}

TEST_P(InstanceOf, ReportsARequestAbortedInTheFrontend) {
  path_.frontend = core::Duration::microseconds(1000);
  const auto one = instance();
  one->submit(request(0, 0));
  one->submit(request(1, 0));
  one->advance(instant(1500), false, test::kNoBudget);
  one->abort(core::RequestId(1), instant(1500));
  ASSERT_EQ(sink_.requests.size(), 1);
  EXPECT_EQ(sink_.requests[0].id, core::RequestId(1));
  EXPECT_EQ(sink_.requests[0].outcome, domain::Outcome::kAborted);
  EXPECT_EQ(one->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  ASSERT_EQ(sink_.requests.size(), 2);
  EXPECT_EQ(sink_.requests[1].outcome, domain::Outcome::kFinished);
}

TEST_P(InstanceOf, PausesWhereARequestIsRefused) {
  const auto one = instance();
  one->submit(request(0, 0));
  one->submit(request(1, 3000, 1 << 20));
  EXPECT_EQ(one->advance(core::SimTime::never(), true, test::kNoBudget), Pause::kCompletion);
  ASSERT_EQ(sink_.requests.size(), 1);
  EXPECT_EQ(sink_.requests[0].outcome, domain::Outcome::kRejected);
  EXPECT_EQ(one->now(), instant(3010));
}

TEST_P(InstanceOf, AnInterruptLeavesWhatWasSentUnfinished) {
  const auto one = instance();
  for (std::uint32_t id = 0; id < 4; ++id) {
    one->submit(request(id, 1000 * id));
  }
  one->advance(instant(1500), false, test::kNoBudget);
  one->drop_all();
  // Two were sent by the instant reached (1,010 us); the others had not been.
  ASSERT_EQ(sink_.requests.size(), 2);
  EXPECT_EQ(sink_.requests[0].outcome, domain::Outcome::kUnfinished);
  EXPECT_EQ(sink_.requests[1].outcome, domain::Outcome::kUnfinished);
}

TEST_P(InstanceOf, StandsStillWhileItHangs) {
  const auto one = instance();
  one->submit(request(0, 0));
  one->advance(instant(2500), false, test::kNoBudget);
  one->hang(instant(2500));
  EXPECT_EQ(one->next_visible(), core::SimTime::never());
  one->submit(request(1, 3000));
  EXPECT_EQ(one->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kLimit);
  EXPECT_EQ(one->state(instant(7500)).running, 1);
  one->go_on(instant(7500));
  EXPECT_EQ(one->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  ASSERT_EQ(sink_.requests.size(), 2);
  // 8 steps of 1,000 us from 10 us on, and 5,000 us between: the third step ends at 8,010 us.
  EXPECT_EQ(sink_.requests[0].last_token, instant(13'010));
  EXPECT_EQ(sink_.requests[1].queued, instant(7500));
  EXPECT_EQ(sink_.requests[1].first_scheduled, instant(8010));
}

TEST_P(InstanceOf, FailsWithAllThatItHas) {
  const auto one = instance();
  one->submit(request(0, 0));
  one->advance(instant(2500), false, test::kNoBudget);
  one->submit(request(1, 2500));
  one->fail(instant(2505));  // The second is in the frontend.
  ASSERT_EQ(sink_.requests.size(), 2);
  for (const domain::RequestRecord& record : sink_.requests) {
    EXPECT_EQ(record.outcome, domain::Outcome::kFailed);
    EXPECT_EQ(record.failed, instant(2505));
  }
  EXPECT_EQ(sink_.requests[0].output_tokens, core::Tokens(2));
  EXPECT_EQ(sink_.requests[1].output_tokens, core::Tokens(0));
  EXPECT_EQ(one->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kIdle);
  EXPECT_EQ(one->next_visible(), core::SimTime::never());
}

TEST_P(InstanceOf, TakesLongerStepsWhileItIsSlow) {
  may_slow_down_ = true;
  const auto one = instance();
  one->submit(request(0, 0));
  one->advance(instant(2500), false, test::kNoBudget);
  one->set_slowdown({.thousandths = 2500});
  one->advance(instant(6000), false, test::kNoBudget);
  one->set_slowdown({});
  one->advance(core::SimTime::never(), false, test::kNoBudget);
  // Steps end at 1,010, 2,010 and 3,010 us; the next two take 2,500 us each, the last three 1,000.
  EXPECT_EQ(sink_.requests[0].last_token, instant(11'010));
}

TEST_P(InstanceOf, StopsAtTheHorizonInFrontOfTheEngine) {
  path_.frontend = core::Duration::microseconds(1000);
  const auto one = instance(instant(500));
  one->submit(request(0, 0));
  EXPECT_EQ(one->advance(instant(2000), false, test::kNoBudget), Pause::kLimit);
  EXPECT_EQ(one->advance(core::SimTime::never(), false, test::kNoBudget), Pause::kHorizon);
}

INSTANTIATE_TEST_SUITE_P(Twins,
                         InstanceOf,
                         testing::Values(EngineCore::kReference, EngineCore::kFast),
                         [](const auto& one) {
                           return std::string(one.param == EngineCore::kFast ? "fast"
                                                                             : "reference");
                         });

}  // namespace
}  // namespace ridgeline::engine
