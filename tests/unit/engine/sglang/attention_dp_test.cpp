// SGLang's ranks of attention in data parallel. Steps take 1,000 us and 10 for each token.
#include "engine/sglang/attention_dp.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/server.hpp"
#include "engine/sglang/options.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/ranks.hpp"
#include "support/sglang_run.hpp"

namespace ridgeline::engine::sglang {
namespace {

/// A request at time zero; an even id is the first rank's, an odd one the second's.
domain::Request rank_request(std::uint32_t id, std::int64_t prompt, std::int64_t output) {
  domain::Request request = test::tiny_request(id, prompt, output);
  request.arrival = core::SimTime();
  return request;
}

test::RanksRun run_two(const Options& options, const std::vector<domain::Request>& requests) {
  return test::run_ranks(2, test::sglang_engine(options), test::LinearModel(), {}, requests, false);
}

core::SimTime rank_time(std::int64_t microseconds) {
  return core::SimTime::at(core::Duration::microseconds(microseconds));
}

TEST(SglangAttentionDp, ARankWithoutWorkRunsIdleBatchesUntilNoRankWorks) {
  const auto run = run_two(test::tiny_sglang(), {rank_request(0, 10, 3)});
  // A prefill of 1,100 us and two decodes of 1,010; then nothing runs: ranks ask at every step.
  EXPECT_EQ(run.ranks[0].sink.requests.front().last_token, rank_time(1100 + 2 * 1010));
  EXPECT_EQ(run.ranks[0].totals.steps, 3);
  EXPECT_EQ(run.ranks[1].totals.steps, 3);
  EXPECT_EQ(run.steps[0].dummy_steps, 0);
  EXPECT_EQ(run.steps[1].dummy_steps, 3);
  EXPECT_EQ(run.pause, Pause::kIdle);
}

TEST(SglangAttentionDp, AStepTakesAsLongAsItsSlowestRank) {
  const auto run = run_two(test::tiny_sglang(), {rank_request(0, 30, 2), rank_request(1, 10, 2)});
  EXPECT_EQ(run.ranks[1].sink.requests.front().first_token, rank_time(1300));
  EXPECT_EQ(run.steps[1].waited, core::Duration::microseconds(200));
}

TEST(SglangAttentionDp, AnIterationWithoutABatchTakesAStepBesideARankThatWorks) {
  Options options = test::tiny_sglang();
  options.max_running_requests = 1;
  // The first rank's second request waits for a seat: the first ends with step 2, is taken out by
  // an iteration without a batch, and the prefill comes with the iteration after it.
  const std::vector<domain::Request> own = {rank_request(0, 10, 2), rank_request(2, 10, 2)};
  const auto alone = run_two(options, own);
  EXPECT_EQ(alone.ranks[0].sink.requests[1].first_token, rank_time(1100 + 1010 + 1100));
  const auto beside = run_two(options, {own[0], rank_request(1, 10, 20), own[1]});
  EXPECT_EQ(beside.ranks[0].sink.requests[1].first_token, rank_time(1100 + 2 * 1010 + 1100));
  EXPECT_EQ(beside.steps[0].dummy_steps, beside.ranks[0].totals.steps - 4);
}

TEST(SglangAttentionDp, TheOverlappedLoopDecodesOnceMoreOnEveryRank) {
  Options options = test::tiny_sglang();
  options.overlap = true;
  const auto run = run_two(options, {rank_request(0, 10, 3)});
  EXPECT_EQ(run.ranks[0].sink.requests.front().last_token, rank_time(1100 + 2 * 1010));
  EXPECT_EQ(run.ranks[0].totals.steps, 4);
  EXPECT_EQ(run.ranks[1].totals.steps, 4);
}

}  // namespace
}  // namespace ridgeline::engine::sglang
