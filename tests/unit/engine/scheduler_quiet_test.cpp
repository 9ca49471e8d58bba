// For how many steps vLLM's scheduler says that nothing but blocks will change.
#include <cstdint>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"
#include "support/probe_run.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

using testing::ElementsAre;

/// Blocks of 4 tokens; requests with prompts of 6 tokens, in a first step of which one token each
/// has come out.
class Quiet {
 public:
  explicit Quiet(const EngineOptions& options) : scheduler_(options) {}

  void add(std::uint32_t id, std::int64_t output) {
    scheduler_.add(test::tiny_request(id, 6, output));
  }
  /// As many steps as a synchronous engine makes of it.
  void step(int times) {
    for (int i = 0; i < times; ++i) {
      if (!step_.empty()) {
        scheduler_.update(step_, std::vector<std::int64_t>(step_.size(), 1));
      }
      scheduler_.schedule(step_);
    }
  }
  std::vector<std::int64_t> changes(std::int64_t rounds) {
    ScheduledStep* const in_flight = &step_;
    std::vector<std::int64_t> result;
    for (const BlockChange& change : scheduler_.advance_quiet({&in_flight, 1}, rounds)) {
      result.push_back(change.step);
      result.push_back(change.used_blocks);
    }
    return result;
  }
  /// A round of which that many tokens come out for each request.
  void round(std::int64_t tokens) {
    scheduler_.advance_round(step_, std::vector<std::int64_t>(step_.size(), tokens));
  }
  Scheduler& operator*() { return scheduler_; }

 private:
  Scheduler scheduler_;
  ScheduledStep step_;
};

TEST(SchedulerQuiet, UntilTheStepBeforeTheFirstEnd) {
  Quiet quiet(test::tiny_options("0.15"));
  quiet.add(0, 20);
  quiet.add(1, 12);
  quiet.step(1);
  EXPECT_EQ((*quiet).quiet_steps(), 0) << "prompts";
  quiet.step(1);
  // The second token of each is in flight: after ten more rounds the twelfth is, which is the last.
  EXPECT_EQ((*quiet).quiet_steps(), 10);
}

TEST(SchedulerQuiet, BlocksAreTakenInTheStepsThatNeedThem) {
  Quiet quiet(test::tiny_options("0.15"));
  quiet.add(0, 20);
  quiet.step(2);
  // Seven tokens are computed, in two blocks. The eighth fits; the ninth and the thirteenth do not.
  EXPECT_EQ((*quiet).counts().used_blocks, 2);
  EXPECT_THAT(quiet.changes(8), ElementsAre(1, 3, 5, 4));
  EXPECT_EQ((*quiet).running().front()->num_output_tokens, 9);
  EXPECT_EQ((*quiet).running().front()->num_computed_tokens, 15);
}

TEST(SchedulerQuiet, AsFarAsThereAreBlocks) {
  EngineOptions options = test::tiny_options("0.15");
  options.num_gpu_blocks = core::Blocks(1 + 6);
  Quiet quiet(options);
  quiet.add(0, 18);
  quiet.add(1, 18);
  quiet.step(2);
  // Both have two blocks of six, for 8 tokens, of which 7 are computed: 5 more take the other two.
  // (16 are asked for first, then half of them, then a half of that.)
  EXPECT_EQ((*quiet).quiet_steps(), 4);
}

TEST(SchedulerQuiet, WithDraftsAsIfAllWereAccepted) {
  EngineOptions options = test::tiny_options("0.15");
  options.num_speculative_tokens = 2;
  options.draft_method = DraftMethod::kNgram;
  Quiet quiet(options);
  quiet.add(0, 20);
  quiet.step(2);
  // One token is known: six steps of three bring the nineteenth.
  EXPECT_EQ((*quiet).quiet_steps(), 6);
  quiet.round(3);
  EXPECT_EQ((*quiet).quiet_steps(), 5);
  quiet.round(1);
  EXPECT_EQ((*quiet).quiet_steps(), 4) << "five are known: four times three, and two more";
  const Sequence& sequence = *(*quiet).running().front();
  EXPECT_EQ(sequence.num_output_tokens, 5);
  EXPECT_EQ(sequence.num_computed_tokens, 6 + 5 - 1 + 3);
}

TEST(SchedulerQuiet, DraftsTakeNoBlockBehindTheLongestSequence) {
  EngineOptions options = test::tiny_options("0.15");
  options.num_speculative_tokens = 3;
  options.max_model_len = core::Tokens(16);
  options.num_gpu_blocks = core::Blocks(1 + 4);
  Quiet quiet(options);
  quiet.add(0, 20);
  quiet.step(2);
  // Ten tokens are in flight, then fourteen; a fifteenth with three slots ahead would be eighteen,
  // but sixteen are the most, and all four blocks are taken.
  EXPECT_EQ((*quiet).quiet_steps(), 1);
  quiet.round(4);
  EXPECT_EQ((*quiet).counts().free_blocks, 0);
  EXPECT_EQ((*quiet).quiet_steps(), 0);
}

TEST(SchedulerQuiet, NotWhileAnotherMayComeIn) {
  EngineOptions options = test::tiny_options("0.15");
  options.max_num_seqs = 2;
  Quiet quiet(options);
  quiet.add(0, 20);
  quiet.step(2);
  EXPECT_GT((*quiet).quiet_steps(), 0);
  quiet.add(1, 20);
  EXPECT_EQ((*quiet).quiet_steps(), 0);
  quiet.step(2);
  quiet.add(2, 20);
  EXPECT_GT((*quiet).quiet_steps(), 0) << "both seats are taken";
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
