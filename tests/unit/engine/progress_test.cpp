#include "engine/progress.hpp"

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/loop/queue_scheduler.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::engine {
namespace {

using core::SimTime;
using core::Tokens;

/// Computes the first token of its request's prompt in every step.
class NeverSamples final : public QueueScheduler<Sequence> {
 public:
  SequencePtr add(const domain::Request& request) override {
    return running_.emplace_back(std::make_shared<Sequence>(request, Tokens(64)));
  }
  void schedule(ScheduledStep& step) override {
    step.assign(1,
                {.sequence = running_.front().get(),
                 .num_computed_tokens = 0,
                 .num_scheduled_tokens = 1,
                 .num_drafts = 0,
                 .is_prefill = true,
                 .samples = false});
  }

 private:
  bool take_tokens(Sequence& /*sequence*/,
                   const ScheduledSequence& /*part*/,
                   std::int64_t /*tokens*/) override {
    return false;
  }
};

TEST(Progress, AStepLoopWithoutTokensEndsWithItsState) {
  const EngineOptions options = test::tiny_options("0.15");
  const test::LinearModel model;  // 1000 us and 10 us a token.
  const HostTime host;
  test::RecordingSink sink;
  StepLoop loop({.options = options, .model = model, .host = host, .sink = sink},
                std::make_unique<NeverSamples>(),
                false);
  loop.submit(test::tiny_request(0, 12, 1), SimTime());
  EXPECT_DEATH(loop.advance(SimTime::never(), false, test::kNoBudget),
               "vllm has run 10000000 steps without a token until 10100 s: 1 requests run, 0 wait");
}

/// A prompt of twelve million tokens, one in each step.
TEST(Progress, TheFastEngineWithoutTokensEndsWithItsState) {
  EngineOptions options = test::tiny_options("0.15");
  options.block_size = Tokens(4'000'000);
  options.num_gpu_blocks = core::Blocks(8);
  options.max_num_batched_tokens = Tokens(1);
  options.max_model_len = Tokens(16'000'000);
  const test::LinearModel model;
  const HostTime host;
  test::RecordingSink sink;
  const auto engine =
      make_fast_engine({.options = options, .model = model, .host = host, .sink = sink}, true);
  engine->submit(test::tiny_request(0, 12'000'000, 1), SimTime());
  EXPECT_DEATH(engine->advance(SimTime::never(), false, test::kNoBudget),
               "vllm has run 10000000 steps without a token until 10100 s: 1 requests run, 0 wait, "
               "4 of 7 blocks are free");
}

}  // namespace
}  // namespace ridgeline::engine
