// The tokens of a step in vLLM's scheduler: drafts at once, ends.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/leg.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
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

/// Runs a step of one token for each request; the tokens scheduled of the first.
std::int64_t run_step(Scheduler& scheduler) {
  ScheduledStep step;
  scheduler.schedule(step);
  if (step.empty()) {
    return 0;
  }
  const std::int64_t tokens = step.front().num_scheduled_tokens;
  scheduler.update(step, std::vector<std::int64_t>(step.size(), 1));
  return tokens;
}

TEST(SchedulerUpdate, ASessionWaitsWithItsKvForTheNextInput) {
  EngineOptions options = small_engine(false, 0);
  options.max_num_seqs = 1;
  for (const auto& [version, second_answer] : {std::pair("0.30", 2), std::pair("0.33", 3)}) {
    options.profile = *find_profile(version);
    Scheduler scheduler(options);
    const auto session = scheduler.take(request(0, 6, 9, 2), {.is_session = true});
    const auto other = scheduler.take(request(1, 4, 1, 1), {});
    EXPECT_EQ(run_step(scheduler), 6);
    EXPECT_EQ(run_step(scheduler), 1);
    // It sleeps, holds its blocks, and keeps its seat: no other runs.
    EXPECT_EQ(scheduler.used_blocks(), 2);
    EXPECT_EQ(run_step(scheduler), 0);
    // The last of its 8 tokens is dropped; the others need no computing.
    scheduler.send(session, request(0, 5, 9, 3));
    EXPECT_EQ(run_step(scheduler), 5);
    EXPECT_EQ(session->num_prompt_tokens, 7 + 5);
    EXPECT_FALSE(scheduler.close(session)) << "it ends with this answer";
    std::int64_t answer = 1;
    for (; session->status != Status::kFinished; ++answer) {
      EXPECT_EQ(run_step(scheduler), 1);
    }
    EXPECT_EQ(answer, second_answer) << "max_tokens of the next input hold from 0.31 on";
    EXPECT_EQ(run_step(scheduler), 4);
    EXPECT_EQ(other->status, Status::kFinished);
    EXPECT_EQ(scheduler.used_blocks(), 0);
  }
}

TEST(SchedulerUpdate, ASessionThatSleepsEndsAtOnce) {
  Scheduler scheduler(small_engine(false, 0));
  const auto session = scheduler.take(request(0, 6, 9, 1), {.is_session = true});
  EXPECT_EQ(run_step(scheduler), 6);
  EXPECT_TRUE(scheduler.close(session));
  EXPECT_EQ(scheduler.used_blocks(), 0);
  EXPECT_EQ(scheduler.num_waiting(), 0);
}

TEST(SchedulerUpdate, AnImageWithoutRoomEndsAChunkOrAdmission) {
  EngineOptions options = small_engine(false, 0);
  options.encoder_budget = options.encoder_cache = 8;
  for (const auto& [version, admitted] : {std::pair("0.32", 1U), std::pair("0.33", 2U)}) {
    options.profile = *find_profile(version);
    Scheduler scheduler(options);
    const auto add = [&](std::uint32_t id, const std::vector<Image>& images) {
      const auto sequence = scheduler.take(request(id, 10, 2, 2), {});
      scheduler.note_images(*sequence, images);
      return sequence;
    };
    add(0, {{.offset = 1, .tokens = 8, .content = 1}});
    add(1, {{.offset = 0, .tokens = 8, .content = 2}});
    add(2, {});
    ScheduledStep step;
    scheduler.schedule(step);
    EXPECT_EQ(step.size(), admitted) << version;
    scheduler.update(step, std::vector<std::int64_t>(step.size(), 1));
    // The first image was read: the second has its room.
    scheduler.schedule(step);
    EXPECT_EQ(scheduler.encoder().encoded().size(), 1U);
    EXPECT_EQ(step.size(), 3U) << version;
  }
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
