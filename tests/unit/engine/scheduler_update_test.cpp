// The tokens of a step in vLLM's scheduler: drafts at once, ends.
#include <cstdint>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

domain::Request request(std::uint32_t id,
                        std::int64_t prompt,
                        std::int64_t output,
                        std::int64_t max_tokens) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.prompt_tokens = core::Tokens(prompt);
  request.output_tokens = core::Tokens(output);
  request.max_tokens = core::Tokens(max_tokens);
  return request;
}

EngineOptions small_engine(bool async, std::int64_t drafts) {
  EngineOptions options;
  options.block_size = core::Tokens(4);
  options.num_gpu_blocks = core::Blocks(64);
  options.max_num_batched_tokens = core::Tokens(32);
  options.max_model_len = core::Tokens(64);
  options.async_scheduling = async;
  options.num_speculative_tokens = drafts;
  options.draft_method = DraftMethod::kNgram;
  return options;
}

TEST(SchedulerUpdate, TokensBehindTheEndAreDropped) {
  Scheduler scheduler(small_engine(false, 2));
  const auto a = scheduler.take(request(0, 5, 9, 9), {});
  const auto b = scheduler.take(request(1, 5, 3, 3), {});
  ScheduledStep step;
  scheduler.schedule(step);
  EXPECT_THAT(scheduler.update(step, std::vector<std::int64_t>{1, 1}), IsEmpty());
  // Both verify two drafts. A gets its next token and both drafts, B one. One token of B is left.
  scheduler.schedule(step);
  EXPECT_THAT(scheduler.update(step, std::vector<std::int64_t>{3, 1}), IsEmpty());
  EXPECT_EQ(a->num_output_tokens, 4);
  // B's third token is its last: the two behind it are dropped.
  scheduler.schedule(step);
  EXPECT_THAT(scheduler.update(step, std::vector<std::int64_t>{1, 3}), ElementsAre(b));
  EXPECT_EQ(b->num_output_tokens, 3);
  EXPECT_EQ(scheduler.num_running(), 1);
}

TEST(SchedulerUpdate, ATokenBehindTheEndIsThrownAway) {
  // The answer's length of 2 is not the client's limit of 8, so that the next step is formed with
  // the request before its end is known.
  Scheduler scheduler(small_engine(true, 0));
  const auto sequence = scheduler.take(request(0, 5, 2, 8), {});
  const std::vector<std::int64_t> one = {1};
  std::vector<ScheduledStep> steps(3);
  scheduler.schedule(steps[0]);
  scheduler.schedule(steps[1]);
  EXPECT_THAT(scheduler.update(steps[0], one), IsEmpty());
  scheduler.schedule(steps[2]);
  ASSERT_EQ(steps[2].size(), 1U);
  EXPECT_THAT(scheduler.update(steps[1], one), ElementsAre(sequence));
  EXPECT_THAT(scheduler.update(steps[2], one), IsEmpty());
  EXPECT_EQ(sequence->num_output_tokens, 2);
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
