// How far ranks in lock-step jump.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/lock_step.hpp"
#include "engine/options.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/ranks.hpp"

namespace ridgeline::engine {
namespace {

TEST(LockStep, AJumpEndsWhereAnotherRankBecomesTheLongest) {
  // 3 us for each token of context: the rank with two requests starts with less context than the
  // one with a single long prompt, and gains 3 us a step on it.
  const test::LinearModel model({.per_token = {}, .per_context = core::Duration::microseconds(3)});
  EngineOptions options = test::tiny_options("0.28");
  options.max_num_batched_tokens = core::Tokens(64);
  options.max_model_len = core::Tokens(128);
  std::vector<domain::Request> requests = {
      test::tiny_request(0, 60, 60), test::tiny_request(1, 20, 60), test::tiny_request(3, 20, 60)};
  for (domain::Request& request : requests) {
    request.arrival = {};
  }
  const auto stepped = test::run_ranks(2, options, model, {}, requests, false);
  const auto jumped = test::run_ranks(2, options, model, {}, requests, true);
  constexpr std::int64_t kMostSteps = 40;
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(jumped.ranks[rank].sink.requests, stepped.ranks[rank].sink.requests);
    EXPECT_EQ(jumped.ranks[rank].sink.gaps, stepped.ranks[rank].sink.gaps);
    EXPECT_EQ(jumped.steps[rank].waited, stepped.steps[rank].waited);
    EXPECT_EQ(jumped.ranks[rank].totals.busy, stepped.ranks[rank].totals.busy);
    EXPECT_GT(stepped.steps[rank].waited, core::Duration()) << "each is shorter for a while";
    EXPECT_GT(jumped.ranks[rank].totals.jumped_steps, kMostSteps);
  }
}

}  // namespace
}  // namespace ridgeline::engine
