// No allocation in steady state: what a run has needed once, it reuses.
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "support/counting_allocator.hpp"
#include "support/linear_model.hpp"

namespace ridgeline {
namespace {

class CountingSink final : public domain::RecordSink {
 public:
  void on_request(const domain::RequestRecord& record) override {
    tokens += record.output_tokens.value();
  }
  void on_steps(const domain::StepRecord& record) override { steps += record.steps; }
  void on_token_gaps(const domain::TokenGaps& record) override {
    gaps += record.count * record.requests;
  }

  std::int64_t tokens = 0;
  std::int64_t steps = 0;
  std::int64_t gaps = 0;
};

class Allocation : public testing::TestWithParam<bool> {};

TEST_P(Allocation, NoneInSteadyState) {
  engine::EngineOptions options;
  options.max_num_seqs = 32;
  options.max_num_batched_tokens = core::Tokens(512);
  options.num_gpu_blocks = core::Blocks(2000);
  options.max_model_len = core::Tokens(1024);
  const test::LinearModel model;
  const engine::HostTime host;
  CountingSink sink;
  const auto engine = engine::make_fast_engine(
      {.options = options, .model = model, .host = host, .sink = sink}, GetParam());

  // A request every 15 ms, 200 tokens in and 100 out: about ten run at a time, steps of some 1.1
  // ms.
  std::uint32_t id = 0;
  const auto run_requests = [&](int count) {
    for (int i = 0; i < count; ++i, ++id) {
      domain::Request request;
      request.id = core::RequestId(id);
      request.arrival = core::SimTime::at(core::Duration::milliseconds(15) * id);
      request.prompt_tokens = core::Tokens(200);
      request.output_tokens = core::Tokens(100);
      request.max_tokens = request.output_tokens;
      engine->advance(request.arrival, false, std::numeric_limits<std::int64_t>::max());
      engine->submit(request, request.arrival);
    }
  };
  run_requests(500);
  const std::int64_t steps_before = engine->totals().steps;
  const std::int64_t before = test::num_allocations();
  run_requests(1000);
  const std::int64_t allocations = test::num_allocations() - before;
  EXPECT_EQ(allocations, 0);
  EXPECT_GT(engine->totals().steps - steps_before, 10'000);
  EXPECT_GT(engine->state(engine->now()).running, 0);
}

INSTANTIATE_TEST_SUITE_P(SteppingAndJumping, Allocation, testing::Bool());

}  // namespace
}  // namespace ridgeline
