// Where the step loop jumps: what the fast engine does not cover, and how far.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/loop/pace.hpp"
#include "engine/options.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

core::Duration us(std::int64_t microseconds) {
  return core::Duration::microseconds(microseconds);
}

TEST(Pace, StepsWithinATime) {
  // 10, 12, 14, 16 us: ends at 10, 22, 36, 52.
  const engine::Pace pace{.period = us(10), .growth = us(2), .batches = 4};
  EXPECT_EQ(pace.length(4), us(52));
  EXPECT_EQ(pace.batches_within(us(10), 4), 0);
  EXPECT_EQ(pace.batches_within(us(37), 4), 3);
  EXPECT_EQ(pace.batches_within(us(36), 4), 2) << "before, not at";
  EXPECT_EQ(pace.batches_within(us(1000), 4), 4);
}

TEST(Pace, TheHostsTimeCountsWhereItIsLonger) {
  // GPU 90 us, 10 more a step; host 100: one step until the GPU takes as long, and one that does.
  engine::LinePlace place{.gpu = us(90),
                          .slope = us(5),
                          .host = {.apart = {}, .beside = us(100)},
                          .room = core::Tokens(1000)};
  const engine::Pace async = engine::pace_of(place, 2, 50);
  EXPECT_EQ(async.period, us(100));
  EXPECT_EQ(async.growth, us(0));
  EXPECT_EQ(async.batches, 2);
  place.host = {.apart = us(100), .beside = {}};
  const engine::Pace sync = engine::pace_of(place, 2, 50);
  EXPECT_EQ(sync.period, us(190));
  EXPECT_EQ(sync.growth, us(10));
  EXPECT_EQ(sync.batches, 50);
}

/// Share of steps taken in jumps by three requests of 40 tokens that end a step after another.
double jumped(const engine::EngineOptions& options, const test::LinearModel::Costs& costs = {}) {
  const std::vector<domain::Request> requests = {
      test::tiny_request(0, 4, 40), test::tiny_request(1, 4, 41), test::tiny_request(2, 4, 42)};
  const auto totals =
      test::run_engine(options, test::LinearModel(costs), {}, requests, test::Twin::kQuiet).totals;
  const auto stepping =
      test::run_engine(options, test::LinearModel(costs), {}, requests, test::Twin::kReference)
          .totals;
  EXPECT_EQ(totals.busy, stepping.busy);
  EXPECT_EQ(totals.steps, stepping.steps);
  EXPECT_EQ(totals.used_block_seconds, stepping.used_block_seconds);
  EXPECT_EQ(stepping.jumped_steps, 0);
  return static_cast<double>(totals.jumped_steps) / static_cast<double>(totals.steps);
}

TEST(StepJump, GoesThroughWindowsPrioritiesAndPipelines) {
  constexpr double kMostSteps = 0.8;
  const engine::EngineOptions plain = test::tiny_options("0.28");
  EXPECT_GT(jumped(plain), kMostSteps);

  engine::EngineOptions windows = plain;
  windows.enable_prefix_caching = true;
  windows.cache_groups = {engine::CacheGroup{},
                          engine::CacheGroup{.sliding_window = core::Tokens(8)}};
  EXPECT_GT(jumped(windows), kMostSteps);
  windows.async_scheduling = true;
  EXPECT_GT(jumped(windows), kMostSteps);

  engine::EngineOptions priorities = plain;
  priorities.policy = engine::SchedulingPolicy::kPriority;
  EXPECT_GT(jumped(priorities), kMostSteps);

  engine::EngineOptions pipeline = plain;
  pipeline.pipeline_depth = 3;
  pipeline.max_num_batched_tokens = core::Tokens(4);  // A prompt a step: a request in each stage.
  EXPECT_GT(jumped(pipeline), kMostSteps);
}

TEST(StepJump, GoesThroughDraftsWhileAllOfThemMayBeAccepted) {
  engine::EngineOptions drafts = test::tiny_options("0.28");
  drafts.num_speculative_tokens = 2;
  drafts.draft_method = engine::DraftMethod::kNgram;
  drafts.draft_acceptance = {0.5};
  // A request's last tokens come step by step: one step may bring three of them.
  constexpr double kHalf = 0.5;
  EXPECT_GT(jumped(drafts), kHalf);
  drafts.async_scheduling = true;
  EXPECT_GT(jumped(drafts), kHalf);
}

TEST(StepJump, AModelWithoutLinesIsAskedStepByStep) {
  constexpr double kMostSteps = 0.8;
  EXPECT_GT(jumped(test::tiny_options("0.28"), {.per_context = us(1), .affine = false}),
            kMostSteps);
  EXPECT_GT(jumped(test::tiny_options("0.28"), {.per_context = us(1), .bin = 64}), kMostSteps);
}

TEST(StepJump, NotWhileStepsInFlightHoldRequestsThatLeft) {
  // A request in each of three stages, and the clients of two give up: three steps in flight, as
  // many as if the one request that is left stood in each.
  engine::EngineOptions pipeline = test::tiny_options("0.28");
  pipeline.pipeline_depth = 3;
  pipeline.max_num_batched_tokens = core::Tokens(4);
  const std::vector<domain::Request> requests = {
      test::tiny_request(0, 4, 40), test::tiny_request(1, 4, 40), test::tiny_request(2, 4, 40)};
  const core::SimTime at = core::SimTime() + us(30'500);
  const std::vector<test::Abort> aborts = {{.at = at, .id = core::RequestId(0)},
                                           {.at = at, .id = core::RequestId(1)}};
  const auto run = [&](test::Twin twin) {
    return test::run_engine(pipeline, test::LinearModel(), {}, requests, twin, aborts);
  };
  const test::EngineRun stepping = run(test::Twin::kReference);
  const test::EngineRun jumping = run(test::Twin::kQuiet);
  EXPECT_GT(jumping.totals.jumped_steps, 0);
  EXPECT_EQ(jumping.totals.steps, stepping.totals.steps);
  EXPECT_EQ(jumping.end, stepping.end);
  EXPECT_EQ(jumping.sink.requests, stepping.sink.requests);
}

TEST(StepJump, ARequestThatCouldComeInIsWaitedFor) {
  // Two seats and three requests: the third waits without a chance until another ends.
  engine::EngineOptions options = test::tiny_options("0.28");
  options.max_num_seqs = 2;
  constexpr double kMostSteps = 0.8;
  EXPECT_GT(jumped(options), kMostSteps);
}

}  // namespace
}  // namespace ridgeline
