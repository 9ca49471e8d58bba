// Aborts in the scheduler that users' runs go through.
#include <algorithm>
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
  test::ProbeRun run(engine::make_fast_probe(test::tiny_options("0.27")));
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

TEST(FastLeaving, WhoeverWaitsOrHasGoneCanBeAbortedToo) {
  auto options = test::tiny_options("0.27");
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

TEST(FastLeaving, NoGapIsReportedForATokenThatNobodyWaitsFor) {
  auto options = test::tiny_options("0.27");
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

}  // namespace
}  // namespace ridgeline
