// How batches end in the scheduler that users' runs go through: one at a time, and many at once.
// And that every run ends.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline {
namespace {

TEST(FastEnding, TheRequestThatRunsLongerIsReportedFirst) {
  const std::vector<domain::Request> requests = {
      test::tiny_request(0, 4, 3), test::tiny_request(1, 4, 5), test::tiny_request(2, 4, 3)};
  const auto run = test::run_engine(
      test::tiny_options("0.28"), test::LinearModel(), {}, requests, test::Twin::kJumping);
  ASSERT_EQ(run.sink.requests.size(), 3U);
  EXPECT_EQ(run.sink.requests[0].id, core::RequestId(0));
  EXPECT_EQ(run.sink.requests[1].id, core::RequestId(2));
  EXPECT_EQ(run.sink.requests[2].id, core::RequestId(1));
}

TEST(FastEnding, TokensOfABatchAreKnownWhenItEnds) {
  test::ProbeRun run(engine::make_fast_probe(test::tiny_options("0.28")));
  run.add(test::tiny_request(0, 4, 2));
  EXPECT_EQ(run.schedule(), "0:4");
  EXPECT_EQ(run->output_tokens(core::RequestId(0)), 0);
  run.end();
  EXPECT_EQ(run->output_tokens(core::RequestId(0)), 1);
  EXPECT_EQ(run.step(), "0:1");
  EXPECT_EQ(run->num_free_blocks(), 64);
}

/// Three requests of 20 and 60 tokens want 60 of 44 blocks. The last one is preempted and looked up
/// in vain in each batch of the other two, which take its blocks while batches are jumped.
TEST(FastEnding, AJumpCountsWhatABlockedHeadFindsInEachBatch) {
  // 0.9 counts every look-up, also of preempted requests; 0.28 only those of admitted requests.
  for (const auto* version : {"0.9", "0.28"}) {
    engine::EngineOptions options = test::tiny_options(version);
    options.num_gpu_blocks = core::Blocks(1 + 44);
    options.max_model_len = core::Tokens(128);
    options.max_num_batched_tokens = core::Tokens(64);
    options.enable_prefix_caching = true;
    const std::vector<domain::Request> requests = {test::tiny_request(0, 20, 60),
                                                   test::tiny_request(1, 20, 60),
                                                   test::tiny_request(2, 20, 60)};
    const auto totals = [&](test::Twin twin) {
      return test::run_engine(options, test::LinearModel(), {}, requests, twin).totals;
    };
    const engine::EngineTotals reference = totals(test::Twin::kReference);
    const engine::EngineTotals jumping = totals(test::Twin::kJumping);
    EXPECT_GT(reference.preemptions, 0);
    EXPECT_EQ(jumping.preemptions, reference.preemptions);
    EXPECT_EQ(jumping.prefix_queries, reference.prefix_queries);
    EXPECT_EQ(jumping.prefix_hits, reference.prefix_hits);
    EXPECT_EQ(jumping.steps, reference.steps);
    EXPECT_GT(jumping.jumped_steps, jumping.steps / 2);
  }
}

/// A prompt states another request's prompt and the beginning of its answer while that is still
/// written, and the first block of both fills in one step. The older of the two is that of the
/// request that runs longer: it is held, so that the prompt's request, preempted, needs one block
/// less to come back.
TEST(FastEnding, OfEqualBlocksTheOlderIsThatOfTheLongerRunningRequest) {
  engine::EngineOptions options = test::tiny_options("0.8");
  options.block_size = core::Tokens(16);
  options.num_gpu_blocks = core::Blocks(1 + 3);
  options.max_num_seqs = 2;
  options.max_num_batched_tokens = core::Tokens(6);
  options.max_model_len = core::Tokens(31);
  options.enable_prefix_caching = true;
  std::vector<domain::Request> requests = {test::tiny_request(0, 12, 9),
                                           test::tiny_request(1, 21, 9)};
  requests[1].prompt = {{domain::unique_content(requests[0].id), core::Tokens(12)},
                        {domain::output_content(requests[0].id), core::Tokens(4)}};
  const auto records = [&](test::Twin twin) {
    return test::run_engine(options, test::LinearModel(), {}, requests, twin).sink.requests;
  };
  const auto reference = records(test::Twin::kReference);
  EXPECT_GT(reference[1].preemptions, 0);
  EXPECT_EQ(records(test::Twin::kJumping), reference);
}

/// Three requests come at one instant, two of them equally urgent, and there is room for one of
/// them at its full length: the one that came last gives way each time, so that the others get on.
TEST(Ending, EquallyUrgentRequestsDoNotPreemptEachOtherForever) {
  engine::EngineOptions options = test::tiny_options("0.15");
  options.policy = engine::SchedulingPolicy::kPriority;
  options.block_size = core::Tokens(1);
  options.num_gpu_blocks = core::Blocks(58);
  options.max_num_seqs = 6;
  options.max_num_batched_tokens = core::Tokens(23);
  options.long_prefill_token_threshold = core::Tokens(5);
  options.max_model_len = core::Tokens(49);
  options.num_speculative_tokens = 1;
  options.draft_method = engine::DraftMethod::kDraftModel;
  options.draft_acceptance = {0.7};
  std::vector<domain::Request> requests = {
      test::tiny_request(0, 43, 6), test::tiny_request(1, 13, 60), test::tiny_request(2, 23, 43)};
  requests[0].priority = 1;
  requests[1].priority = 1;
  requests[2].priority = -1;
  test::RecordingSink sink;
  const test::LinearModel model;
  const engine::HostTime host;
  const auto engine = engine::make_reference_engine(
      {.options = options, .model = model, .host = host, .sink = sink});
  for (domain::Request& request : requests) {
    request.arrival = core::SimTime();
    engine->submit(request, request.arrival);
  }
  constexpr std::int64_t kPlenty = 5000;
  const auto pause = engine->advance(core::SimTime::never(), false, kPlenty);
  EXPECT_EQ(pause, engine::Pause::kIdle);
  EXPECT_EQ(sink.requests.size(), 3U);
}

}  // namespace
}  // namespace ridgeline
