// What the plain twin's scheduler makes of the tokens of a step: gaps in runs, drafts at once,
// ends.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

core::SimTime at(std::int64_t milliseconds) {
  return core::SimTime() + core::Duration::microseconds(milliseconds * 1000);
}

/// Steps of a small synchronous engine, each formed when the one before has ended.
class Updates {
 public:
  explicit Updates(std::int64_t drafts = 0) {
    options_.block_size = core::Tokens(4);
    options_.num_gpu_blocks = core::Blocks(64);
    options_.max_num_batched_tokens = core::Tokens(32);
    options_.max_model_len = core::Tokens(64);
    options_.async_scheduling = false;
    options_.num_speculative_tokens = drafts;
    options_.draft_method = DraftMethod::kNgram;
    scheduler_ = std::make_unique<Scheduler>(options_);
  }

  SequencePtr add(std::uint32_t id, std::int64_t prompt, std::int64_t output) {
    domain::Request request;
    request.id = core::RequestId(id);
    request.prompt_tokens = core::Tokens(prompt);
    request.output_tokens = core::Tokens(output);
    request.max_tokens = request.output_tokens;
    auto sequence = std::make_shared<Sequence>(request, options_.max_model_len);
    scheduler_->add(sequence);
    return sequence;
  }

  void schedule() {
    steps_.emplace_back();
    scheduler_->schedule(steps_.back());
  }
  /// The oldest step ends. Gives the gaps in milliseconds, each with the number of its tokens.
  std::vector<std::pair<std::int64_t, std::int64_t>> update(
      core::SimTime now, const std::vector<std::int64_t>& tokens = {}) {
    std::vector<domain::TokenGaps> gaps;
    ended_ = scheduler_->update(steps_.front(), tokens, now, gaps);
    steps_.erase(steps_.begin());
    std::vector<std::pair<std::int64_t, std::int64_t>> result;
    for (const auto& run : gaps) {
      result.emplace_back(run.gap.count() / core::Duration::microseconds(1000).count(),
                          run.requests);
    }
    return result;
  }
  [[nodiscard]] const std::vector<SequencePtr>& ended() const { return ended_; }
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }

 private:
  EngineOptions options_;
  std::unique_ptr<Scheduler> scheduler_;
  std::vector<ScheduledStep> steps_;
  std::vector<SequencePtr> ended_;
};

TEST(SchedulerUpdate, EqualGapsOfAStepAreOneRun) {
  Updates engine;
  const auto a = engine.add(0, 5, 4);
  const auto b = engine.add(1, 5, 4);
  engine.schedule();
  EXPECT_THAT(engine.update(at(10)), IsEmpty()) << "first tokens have no gap before them";
  const auto late = engine.add(2, 5, 4);
  engine.schedule();
  EXPECT_THAT(engine.update(at(25)), ElementsAre(Pair(15, 2)));
  engine.schedule();
  EXPECT_THAT(engine.update(at(33)), ElementsAre(Pair(8, 3)));
  EXPECT_EQ(a->record.first_token, at(10));
  EXPECT_EQ(late->record.first_token, at(25));
  EXPECT_EQ(b->last_token, at(33));
  EXPECT_EQ(b->num_delivered_tokens(), 3);
  // The fourth token ends the first two, in their order; the late one has one to go.
  engine.schedule();
  EXPECT_THAT(engine.update(at(40)), ElementsAre(Pair(7, 3)));
  EXPECT_THAT(engine.ended(), ElementsAre(a, b));
  EXPECT_EQ(late->num_delivered_tokens(), 3);
  EXPECT_EQ(engine.scheduler().num_running(), 1);
}

TEST(SchedulerUpdate, AcceptedDraftsComeAtOnce) {
  Updates engine(2);
  const auto a = engine.add(0, 5, 9);
  const auto b = engine.add(1, 5, 3);
  engine.schedule();
  EXPECT_THAT(engine.update(at(10), {1, 1}), IsEmpty());
  // Both verify two drafts. A gets its next token and both drafts, B one: 20 ms after the first,
  // and two tokens in no time. One token of B is left.
  engine.schedule();
  EXPECT_THAT(engine.update(at(30), {3, 1}), UnorderedElementsAre(Pair(20, 2), Pair(0, 2)));
  EXPECT_EQ(a->num_delivered_tokens(), 4);
  // B's third token is its last: the two behind it are dropped, and its gaps with them.
  engine.schedule();
  EXPECT_THAT(engine.update(at(35), {1, 3}), ElementsAre(Pair(5, 2)));
  EXPECT_THAT(engine.ended(), ElementsAre(b));
  EXPECT_EQ(b->record.output_tokens, core::Tokens(3));
  EXPECT_EQ(b->num_output_tokens, 3);
}

TEST(SchedulerUpdate, ATokenBehindTheEndIsThrownAway) {
  // The answer's length of 2 is not the client's limit of 8, so that the next step is formed with
  // the request before its end is known.
  domain::Request request;
  request.id = core::RequestId(0);
  request.prompt_tokens = core::Tokens(5);
  request.output_tokens = core::Tokens(2);
  request.max_tokens = core::Tokens(8);
  EngineOptions options;
  options.block_size = core::Tokens(4);
  options.num_gpu_blocks = core::Blocks(64);
  options.async_scheduling = true;
  Scheduler scheduler(options);
  auto sequence = std::make_shared<Sequence>(request, core::Tokens(64));
  scheduler.add(sequence);
  std::vector<ScheduledStep> steps(3);
  std::vector<domain::TokenGaps> gaps;
  scheduler.schedule(steps[0]);
  scheduler.schedule(steps[1]);
  EXPECT_THAT(scheduler.update(steps[0], {}, at(10), gaps), IsEmpty());
  scheduler.schedule(steps[2]);
  ASSERT_EQ(steps[2].size(), 1U);
  EXPECT_THAT(scheduler.update(steps[1], {}, at(20), gaps), ElementsAre(sequence));
  const std::weak_ptr<Sequence> watched = std::exchange(sequence, nullptr);
  ASSERT_FALSE(watched.expired()) << "a step in flight still names it";
  EXPECT_THAT(scheduler.update(steps[2], {}, at(30), gaps), IsEmpty());
  EXPECT_TRUE(watched.expired());
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps.front().requests, 1) << "one gap, of 10 ms";
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
