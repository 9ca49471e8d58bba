// What the fast engine reports: its step records account for all that its totals say.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::engine {
namespace {

domain::Request sent(std::uint32_t id, std::int64_t output) {
  domain::Request one;
  one.id = core::RequestId(id);
  one.prompt_tokens = core::Tokens(100);
  one.output_tokens = core::Tokens(output);
  one.max_tokens = one.output_tokens;
  return one;
}

TEST(FastEngineReports, StepRecordsAddUpToTheTotals) {
  const test::LinearModel model;
  EngineOptions options;
  options.max_num_seqs = 8;
  options.num_gpu_blocks = core::Blocks(10'000);
  options.log_steps = true;
  const auto run = test::run_engine(
      options, model, {}, {sent(0, 50), sent(1, 400), sent(2, 1000)}, test::Twin::kJumping);
  std::int64_t steps = 0;
  core::Duration busy;
  for (const domain::StepRecord& record : run.sink.steps) {
    steps += record.steps;
    busy += record.period * record.steps +
            record.period_growth * (record.steps * (record.steps - 1) / 2);
  }
  EXPECT_GT(run.totals.jumped_steps, 0);
  EXPECT_EQ(steps, run.totals.steps);
  EXPECT_EQ(busy, run.totals.busy);
}

}  // namespace
}  // namespace ridgeline::engine
