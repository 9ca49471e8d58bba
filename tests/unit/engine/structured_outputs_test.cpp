// Requests with structured outputs: they wait for their grammars, and steps for their masks.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

core::Duration span_of(std::int64_t microseconds) {
  return core::Duration::microseconds(microseconds);
}
core::SimTime instant(std::int64_t microseconds) {
  return core::SimTime::at(span_of(microseconds));
}

/// A request of 4 prompt tokens.
domain::Request held_to(std::uint32_t schema, std::uint32_t id, std::int64_t arrival_us = 0) {
  domain::Request request = test::tiny_request(id, 4, 4);
  request.arrival = instant(arrival_us);
  request.grammar = core::GrammarId(schema);
  return request;
}
domain::Request free_request(std::uint32_t id, std::int64_t arrival_us = 0) {
  domain::Request request = test::tiny_request(id, 4, 4);
  request.arrival = instant(arrival_us);
  return request;
}

engine::EngineOptions options_of(const std::string& version,
                                 bool async,
                                 std::int64_t compile_us,
                                 std::int64_t mask_us) {
  engine::EngineOptions options = test::tiny_options(version);
  options.async_scheduling = async;
  options.grammars = engine::GrammarTimes{.compile = span_of(compile_us), .mask = span_of(mask_us)};
  return options;
}

/// Steps take 1000 us and 10 a token; records by id, and equal with jumps.
std::vector<domain::RequestRecord> records(const engine::EngineOptions& options,
                                           const std::vector<domain::Request>& requests,
                                           std::int64_t host_us = 0) {
  const engine::HostTime host{.per_step = span_of(host_us), .per_sequence = {}};
  const auto run = [&](test::Twin twin) {
    auto found = test::run_engine(options, test::LinearModel(), host, requests, twin).sink.requests;
    std::ranges::sort(found, {}, &domain::RequestRecord::id);
    return found;
  };
  const auto stepped = run(test::Twin::kReference);
  EXPECT_EQ(run(test::Twin::kJumping), stepped);
  return stepped;
}

/// From a token of a lone request to the next.
core::Duration tpot(const engine::EngineOptions& options, std::int64_t host_us) {
  const auto one = records(options, {held_to(0, 0)}, host_us).front();
  constexpr std::int64_t kGaps = 3;
  EXPECT_EQ((one.last_token - one.first_token).count() % kGaps, 0);
  return core::Duration::ticks((one.last_token - one.first_token).count() / kGaps);
}

TEST(StructuredOutputs, WaitForTheirGrammarWhichIsCompiledOnce) {
  const auto done = records(options_of("0.28", false, 5000, 0),
                            {held_to(0, 0),
                             held_to(0, 1, 1000),
                             held_to(1, 2, 2000),
                             free_request(3, 2000),
                             held_to(0, 4, 100'000)});
  // The free request's steps end at 3040, 4050, 5060, and 6070 us.
  EXPECT_EQ(done[0].first_scheduled, instant(5060));
  EXPECT_LT(done[1].first_scheduled, instant(5061)) << "that of the first, not one of its own";
  EXPECT_GE(done[2].first_scheduled, instant(7000));
  EXPECT_EQ(done[3].first_scheduled, instant(2000)) << "passes the others";
  EXPECT_EQ(done[4].first_scheduled, instant(100'000)) << "kept";
}

TEST(StructuredOutputs, MasksAreMadeBesideTheForwardPassOrBeforeIt) {
  // A decode takes the GPU 1010 us, and the host 200.
  EXPECT_EQ(tpot(options_of("0.28", false, 0, 100), 200), span_of(1210));
  EXPECT_EQ(tpot(options_of("0.28", false, 0, 2000), 200), span_of(2200));
  EXPECT_EQ(tpot(options_of("0.11", false, 0, 2000), 200), span_of(3210));
  EXPECT_EQ(tpot(options_of("0.28", true, 0, 500), 200), span_of(1010)) << "hidden";
  EXPECT_EQ(tpot(options_of("0.28", true, 0, 2000), 200), span_of(2200)) << "with the host's work";
}

TEST(StructuredOutputs, DraftsHaveMasksToo) {
  engine::EngineOptions options = options_of("0.28", false, 0, 2000);
  options.num_speculative_tokens = 2;
  options.draft_method = engine::DraftMethod::kNgram;
  EXPECT_EQ(tpot(options, 0), span_of(6000)) << "none is accepted";
}

TEST(StructuredOutputs, NoStepIsFormedWhileAsynchronousMasksAreMade) {
  // Steps 1 and 2 are formed at 0, and end at 1040 and 2050. The masks of step 2 follow from the
  // tokens of step 1, so that step 3 is formed at 1840, and not at 1040.
  const auto done =
      records(options_of("0.28", true, 0, 800), {held_to(0, 0), free_request(1, 1500)});
  EXPECT_EQ(done[1].first_scheduled, instant(1840));
  EXPECT_EQ(done[1].first_token, instant(2050 + 1050));
  const auto without =
      records(options_of("0.28", true, 0, 0), {held_to(0, 0), free_request(1, 1500)});
  EXPECT_EQ(without[1].first_scheduled, instant(2050));
}

/// vLLM puts requests passed over back in reverse order from 0.9 to 0.13.
TEST(StructuredOutputs, RequestsPassedOverKeepTheProfilesOrder) {
  for (const auto& [version, first] :
       {std::pair("0.8", 0U), {"0.11", 1U}, {"0.15", 0U}, {"0.28", 0U}}) {
    engine::vllm::plain::Scheduler scheduler(options_of(version, false, 5000, 0));
    std::vector<engine::SequencePtr> held;
    for (std::uint32_t id = 0; id < 2; ++id) {
      held.push_back(scheduler.add(held_to(id, id)));
      held.back()->waits_for_grammar = true;
    }
    scheduler.add(free_request(2));
    engine::ScheduledStep step;
    scheduler.schedule(step);
    ASSERT_EQ(step.size(), 1U) << version;
    EXPECT_EQ(step.front().sequence->record.id, core::RequestId(2)) << version;
    ASSERT_EQ(scheduler.waiting().size(), 2U) << version;
    EXPECT_EQ(scheduler.waiting().front()->record.id, core::RequestId(first)) << version;
  }
}

TEST(StructuredOutputs, AClientThatGivesUpLeavesNothingToWaitFor) {
  const auto run = test::run_engine(options_of("0.28", false, 5000, 0),
                                    test::LinearModel(),
                                    {},
                                    {held_to(0, 0)},
                                    test::Twin::kReference,
                                    {{.at = instant(1000), .id = core::RequestId(0)}});
  EXPECT_EQ(run.end, instant(1000));
  EXPECT_EQ(run.sink.requests.front().outcome, domain::Outcome::kAborted);
}

TEST(StructuredOutputs, AGrammarPastTheHorizonEndsTheRun) {
  const auto run = test::run_engine(options_of("0.28", false, 5000, 0),
                                    test::LinearModel(),
                                    {},
                                    {held_to(0, 0)},
                                    test::Twin::kReference,
                                    {},
                                    instant(4000));
  EXPECT_TRUE(run.past_horizon);
}

}  // namespace
}  // namespace ridgeline
