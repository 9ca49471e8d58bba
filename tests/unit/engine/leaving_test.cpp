// Aborts in the scheduler that users' runs go through.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/engine.hpp"
#include "engine/probe.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

TEST(FastLeaving, AnAbortGivesBlocksBackAndThrowsTheTokenInFlightAway) {
  test::ProbeRun run(engine::make_fast_probe(test::tiny_options("0.28")));
  run.add(test::tiny_request(0, 8, 4));
  run.add(test::tiny_request(1, 8, 4));
  EXPECT_EQ(run.schedule(), "0:8 1:8");
  EXPECT_EQ(run->num_free_blocks(), 60);  // 64 less two blocks of four tokens each.
  run->abort(core::RequestId(0));
  EXPECT_EQ(run->num_free_blocks(), 62);
  run.end();
  EXPECT_EQ(run->output_tokens(core::RequestId(0)), 0);
  EXPECT_EQ(run->output_tokens(core::RequestId(1)), 1);
  EXPECT_EQ(run.step(), "1:1");
}

TEST(FastLeaving, WaitingAndEndedRequestsCanBeAbortedToo) {
  auto options = test::tiny_options("0.28");
  options.max_num_seqs = 1;
  test::ProbeRun run(engine::make_fast_probe(options));
  run.add(test::tiny_request(0, 8, 1));
  run.add(test::tiny_request(1, 8, 1));
  EXPECT_EQ(run.schedule(), "0:8");
  run->abort(core::RequestId(1));
  EXPECT_TRUE(run->waiting().empty());
  run.end();
  run->abort(core::RequestId(0));  // It has ended: nothing happens.
  EXPECT_EQ(run->output_tokens(core::RequestId(0)), 1);
  EXPECT_EQ(run->num_free_blocks(), 64);
}

TEST(FastLeaving, NoGapIsReportedForATokenOfAnAbortedRequest) {
  auto options = test::tiny_options("0.28");
  const std::vector<domain::Request> requests = {test::tiny_request(0, 8, 9),
                                                 test::tiny_request(1, 8, 9)};
  const auto gaps_with = [&](const std::vector<test::Abort>& aborts) {
    const auto run = test::run_engine(options,
                                      test::LinearModel(test::LinearModel::Costs{}),
                                      {},
                                      requests,
                                      test::Twin::kStepping,
                                      aborts);
    std::int64_t gaps = 0;
    for (const auto& [gap, times] : run.sink.gaps) {
      gaps += times;
    }
    std::int64_t due = 0;
    for (const auto& record : run.sink.requests) {
      due += std::max<std::int64_t>(record.output_tokens.value() - 1, 0);
    }
    EXPECT_EQ(gaps, due);
    return gaps;
  };
  EXPECT_EQ(gaps_with({}), 16);  // Two answers of nine tokens: eight gaps each.
  // The first request's client goes while the second's prompt is being computed.
  const core::SimTime soon = requests[1].arrival + core::Duration::microseconds(1);
  EXPECT_EQ(gaps_with({{.at = soon, .id = core::RequestId(0)}}), 8);
}

/// Preempted with its first token since the last preemption in flight, and then aborted: its last
/// token is still the one that it got before.
TEST(FastLeaving, AnAbortedRequestHasItsLastTokenWhenItCame) {
  engine::EngineOptions options = test::tiny_options("0.13");
  options.block_size = core::Tokens(1);
  options.num_gpu_blocks = core::Blocks(115);
  options.max_num_seqs = 5;
  options.max_num_batched_tokens = core::Tokens(36);
  options.max_model_len = core::Tokens(72);
  options.enable_prefix_caching = false;
  options.async_scheduling = true;
  std::vector<domain::Request> requests = {test::tiny_request(0, 28, 37),
                                           test::tiny_request(1, 15, 29),
                                           test::tiny_request(2, 18, 41),
                                           test::tiny_request(3, 5, 47),
                                           test::tiny_request(4, 46, 1)};
  constexpr std::array<std::int64_t, 5> kArrivals = {261, 513, 1076, 1218, 1478};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].arrival = core::SimTime::at(core::Duration::microseconds(kArrivals[i]));
  }
  const std::vector<test::Abort> aborts = {
      {.at = core::SimTime::at(core::Duration::microseconds(101'428)), .id = core::RequestId(3)}};
  const engine::HostTime host{.per_step = core::Duration::milliseconds(3), .per_sequence = {}};
  for (const auto twin : {test::Twin::kReference, test::Twin::kStepping, test::Twin::kJumping}) {
    const auto run = test::run_engine(options, test::LinearModel(), host, requests, twin, aborts);
    const auto third = std::find_if(run.sink.requests.begin(),
                                    run.sink.requests.end(),
                                    [](const domain::RequestRecord& record) {
                                      return record.outcome == domain::Outcome::kAborted;
                                    });
    ASSERT_NE(third, run.sink.requests.end());
    EXPECT_EQ(third->id, core::RequestId(3));
    EXPECT_EQ(third->preemptions, 2);
    // Steps take the host's 3 ms from 0.261 ms on; the fourteenth gave it the last token.
    EXPECT_EQ(third->last_token, core::SimTime::at(core::Duration::microseconds(261 + 14 * 3000)));
  }
}

}  // namespace
}  // namespace ridgeline
