// The executor around its two schedulers: what a step is, and what its tokens mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/scheduler.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

TEST(TensorRtScheduler, RefusesWhatCouldNeverRun) {
  EngineOptions options = small_options();
  SmallEngine engine(options);
  EXPECT_FALSE(engine.add(small_request(0, 65, 1))) << "a prompt longer than max_num_tokens";
  EXPECT_FALSE(engine.add(small_request(1, 60, 5))) << "17 blocks of 16";
  EXPECT_TRUE(engine.add(small_request(2, 60, 4)));
  options.enable_chunked_prefill = true;
  options.num_gpu_blocks = core::Blocks(65);
  EXPECT_TRUE(SmallEngine(options).add(small_request(0, 65, 1)));
}

TEST(TensorRtScheduler, ContextsAndGenerationsShareAStep) {
  SmallEngine engine(small_options());
  engine.add(small_request(0, 10, 3));
  EXPECT_EQ(engine.step(), "0:10");
  engine.add(small_request(1, 6, 1));
  EXPECT_EQ(engine.step(), "1:6 | 0");
  EXPECT_EQ(engine.step(), " | 0");
  EXPECT_EQ(engine.step(), "");
  EXPECT_EQ(engine.scheduler().kv_cache().num_free(), 16);
}

/// With overlap, a request whose last token is in flight is left out; one that stops by itself is
/// in one step too many.
TEST(TensorRtScheduler, OverlapForeseesLengthsAlone) {
  EngineOptions options = small_options();
  options.async_scheduling = true;
  SmallEngine engine(options);
  domain::Request stops = small_request(1, 4, 2);
  stops.max_tokens = core::Tokens(9);
  engine.add(small_request(0, 4, 2));
  engine.add(stops);
  EXPECT_EQ(engine.step(), "0:4 1:4");
  EXPECT_EQ(engine.step(), " | 0 1");
  EXPECT_EQ(engine.step(), " | 1");
  EXPECT_EQ(engine.step(), "");
  EXPECT_EQ(engine.scheduler().counts().running, 0);
}

/// 4 blocks: two requests of 8 tokens fill them, and each needs one more.
TEST(TensorRtScheduler, APausedRequestComputesPromptAndOutputsAnew) {
  EngineOptions options = small_options();
  options.num_gpu_blocks = core::Blocks(1 + 4);
  SmallEngine engine(options, {.capacity_scheduler_policy = CapacityPolicy::kMaxUtilization});
  engine.add(small_request(0, 8, 3));
  engine.add(small_request(1, 8, 3));
  EXPECT_EQ(engine.step(), "0:8 1:8");
  EXPECT_EQ(engine.step(), " | 0");
  EXPECT_EQ(engine.scheduler().counts().preemptions, 1);
  EXPECT_EQ(engine.step(), " | 0");
  EXPECT_EQ(engine.step(), "1:9") << "eight of the prompt, and its first token";
  EXPECT_EQ(engine.step(), " | 1");
  EXPECT_EQ(engine.step(), "");
}

/// A context that is computed whole is cut to max_num_tokens: the tokens behind come anew, unseen.
TEST(TensorRtScheduler, APausedContextBeyondTheBudgetRepeatsItsTail) {
  EngineOptions options = small_options();
  options.num_gpu_blocks = core::Blocks(1 + 4);
  options.max_num_batched_tokens = core::Tokens(8);
  SmallEngine engine(options, {.capacity_scheduler_policy = CapacityPolicy::kMaxUtilization});
  engine.add(small_request(0, 6, 4));
  engine.add(small_request(1, 7, 6));
  EXPECT_EQ(engine.step(), "0:6");
  EXPECT_EQ(engine.step(), "1:7 | 0");
  EXPECT_EQ(engine.step(), " | 0 1");
  EXPECT_EQ(engine.step(), " | 0") << "the other, of 7 tokens and 2 outputs, gives way";
  EXPECT_EQ(engine.step(), "1:8");
  std::string steps;
  for (int i = 0; i < 6; ++i) {
    steps += engine.step() + ";";
  }
  EXPECT_EQ(steps, " | 1; | 1; | 1; | 1;;;");
}

TEST(TensorRtScheduler, DraftsCostTokensAndGiveBlocksBack) {
  EngineOptions options = small_options();
  options.num_speculative_tokens = 3;
  SmallEngine engine(options);
  engine.add(small_request(0, 4, 3));
  EXPECT_EQ(engine.step(), "0:4");
  EXPECT_EQ(engine.scheduler().kv_cache().num_free(), 15);
  EXPECT_EQ(engine.step(), " | 0");
  EXPECT_EQ(engine.scheduler().kv_cache().num_free(), 14) << "one token came out of four";
}

TEST(TensorRtScheduler, CountsWhatWaitsAndWhatIsFound) {
  EngineOptions options = small_options();
  options.enable_prefix_caching = true;
  options.max_num_seqs = 1;
  SmallEngine engine(options);
  engine.add(small_request(0, 10, 1, 1));
  engine.add(small_request(1, 12, 1, 1));
  EXPECT_EQ(engine.scheduler().queued_prompt_tokens(), core::Tokens(22));
  EXPECT_EQ(engine.step(), "0:10");
  EXPECT_EQ(engine.scheduler().cached_prefix(small_request(2, 12, 1, 1), {}), core::Tokens(10));
  EXPECT_EQ(engine.scheduler().counts().waiting, 1);
  EXPECT_EQ(engine.step(), "1:2");
  EXPECT_EQ(engine.scheduler().counts().prefix_queries, core::Tokens(22));
  EXPECT_EQ(engine.scheduler().counts().prefix_hits, core::Tokens(10));
}

/// A step is in flight from its launch on: of 12 tokens the first two steps give two, so that ten
/// rounds are left, of which the last ends the request.
TEST(TensorRtScheduler, QuietStepsEndBeforeARequestDoes) {
  Scheduler scheduler(small_options(), {});
  const auto first = scheduler.add(small_request(0, 4, 12));
  ScheduledStep step;
  scheduler.schedule(step);
  EXPECT_EQ(scheduler.quiet_steps(), 0) << "a context";
  const std::vector<std::int64_t> one(1, 1);
  scheduler.update(step, one);
  scheduler.schedule(step);
  EXPECT_EQ(scheduler.quiet_steps(), 10);
  const auto second = scheduler.add(small_request(1, 4, 12));
  EXPECT_EQ(scheduler.quiet_steps(), 0) << "one has come";
  scheduler.abort(core::RequestId(1));
  scheduler.update(step, one);
  scheduler.schedule(step);
  EXPECT_EQ(scheduler.quiet_steps(), 9);
  ScheduledStep* const in_flight = &step;
  const auto changes = scheduler.advance_quiet({&in_flight, 1}, 9);
  EXPECT_EQ(scheduler.quiet_steps(), 0);
  ASSERT_EQ(changes.size(), 2U) << "blocks for the tokens at places 8 and 12";
  EXPECT_EQ(changes[0].step, 2);
  EXPECT_EQ(changes[1].used_blocks, 4);
}
}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
