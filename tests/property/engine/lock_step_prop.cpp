// Ranks in lock-step over random engines, requests and clients that give up.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/server.hpp"
#include "equal_ranks.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/ranks.hpp"

namespace ridgeline {
namespace {

test::Scenario random_ranks() {
  test::Scenario scenario = test::random_scenario({.handed_over = true, .aborts = true});
  scenario.options.pipeline_depth = 0;  // Whose stages are not in lock-step.
  return scenario;
}

test::RanksRun run(const test::Scenario& scenario, std::size_t ranks, bool jump) {
  return test::run_ranks(ranks,
                         scenario.options,
                         test::LinearModel(scenario.costs),
                         scenario.host,
                         scenario.requests,
                         jump,
                         scenario.aborts);
}

RC_GTEST_PROP(LockSteps, JumpedGiveWhatTheyGiveOneByOne, ()) {
  const test::Scenario scenario = random_ranks();
  const auto ranks = *rc::gen::inRange<std::size_t>(1, 5);
  const test::RanksRun stepped = run(scenario, ranks, false);
  const test::RanksRun jumped = run(scenario, ranks, true);
  test::expect_equal(stepped, jumped);
}

RC_GTEST_PROP(LockSteps, OfOneRankAreThePlainEngines, ()) {
  const test::Scenario scenario = random_ranks();
  const test::RanksRun group = run(scenario, 1, *rc::gen::arbitrary<bool>());
  const test::RanksRun plain = test::run_ranks(1,
                                               scenario.options,
                                               test::LinearModel(scenario.costs),
                                               scenario.host,
                                               scenario.requests,
                                               false,
                                               scenario.aborts,
                                               true);
  RC_ASSERT(group.steps[0].dummy_steps == 0);
  RC_ASSERT(group.steps[0].waited == core::Duration());
  test::expect_equal(plain.ranks[0], group.ranks[0]);
}

/// Steps begin and end together, and each takes what the rank takes that has most to do; at the end
/// every block is free.
RC_GTEST_PROP(LockSteps, TakeAsLongAsTheLongestRank, ()) {
  test::Scenario scenario = random_ranks();
  scenario.costs.per_context = core::Duration();
  scenario.host = {};
  if (scenario.options.grammars) {
    scenario.options.grammars->mask = {};
  }
  const auto ranks = *rc::gen::inRange<std::size_t>(2, 5);
  const test::RanksRun group = run(scenario, ranks, *rc::gen::arbitrary<bool>());
  struct Step {
    core::Duration period;
    std::int64_t most_tokens = 1;  // A dummy step has one.
  };
  std::map<core::SimTime, Step> steps;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    RC_ASSERT(group.ranks[rank].totals.steps == group.ranks[0].totals.steps);
    RC_ASSERT(group.ranks[rank].totals.busy == group.ranks[0].totals.busy);
    RC_ASSERT(group.steps[rank].dummy_steps +
                  static_cast<std::int64_t>(group.ranks[rank].sink.steps.size()) ==
              group.ranks[rank].totals.steps);
    RC_ASSERT(group.last[rank].used_blocks == core::Blocks(0));
    for (const domain::StepRecord& record : group.ranks[rank].sink.steps) {
      Step& step = steps[record.start];
      RC_ASSERT(step.period == core::Duration() || step.period == record.period);
      step.period = record.period;
      step.most_tokens =
          std::max(step.most_tokens, record.num_decodes + record.prefill_tokens.value());
    }
  }
  for (const auto& [start, step] : steps) {
    RC_ASSERT(step.period == scenario.costs.step + scenario.costs.per_token * step.most_tokens);
  }
}

}  // namespace
}  // namespace ridgeline
