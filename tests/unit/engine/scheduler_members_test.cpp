// Requests of vLLM's scheduler that decode: when they are sums, and what they are when they are
// requests again.
#include <cstdint>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/loop/decode_set.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/scheduler.hpp"
#include "support/probe_run.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

/// A synchronous engine without time: blocks of 4 tokens, prompts of 6.
class Gathering {
 public:
  explicit Gathering(const EngineOptions& options) : scheduler_(options) {
    scheduler_.decodes().gather(true);
  }

  void add(std::uint32_t id, std::int64_t output) {
    scheduler_.add(test::tiny_request(id, 6, output));
  }
  /// The step in flight ends, and the next is formed. How many requests stand in it by themselves.
  std::int64_t step() {
    if (has_formed_) {
      scheduler_.retire_decodes();
      static_cast<void>(scheduler_.decodes().take_leavers());
      scheduler_.decodes().end(in_step_, core::SimTime());
      scheduler_.update(step_, std::vector<std::int64_t>(step_.size(), 1));
      for (const ScheduledSequence& part : step_) {
        part.sequence->num_delivered_tokens += part.samples ? 1 : 0;
      }
    }
    scheduler_.schedule(step_);
    in_step_ = scheduler_.decodes().in_step();
    scheduler_.decodes().form();
    has_formed_ = true;
    return std::ssize(step_);
  }
  [[nodiscard]] std::int64_t members() const { return in_step_.count; }
  Scheduler& operator*() { return scheduler_; }

 private:
  Scheduler scheduler_;
  ScheduledStep step_;
  DecodeSet::InStep in_step_;
  bool has_formed_ = false;
};

TEST(SchedulerMembers, ARequestIsASumFromItsFirstDecodeOn) {
  Gathering engine(test::tiny_options("0.15"));
  engine.add(0, 20);
  EXPECT_EQ(engine.step(), 1);
  EXPECT_EQ(engine.members(), 0);
  EXPECT_EQ(engine.step(), 0);
  EXPECT_EQ(engine.members(), 1);
  // Six tokens of the prompt, then one a step: the third block is begun before the ninth.
  EXPECT_EQ((*engine).counts().used_blocks, 2);
  engine.step();
  engine.step();
  EXPECT_EQ((*engine).counts().used_blocks, 3);
}

TEST(SchedulerMembers, AShortAnswerStaysARequest) {
  Gathering engine(test::tiny_options("0.15"));
  engine.add(0, 3);
  engine.step();
  EXPECT_EQ(engine.step(), 1);
  EXPECT_EQ(engine.members(), 0);
}

TEST(SchedulerMembers, ARequestThatLeavesHasWhatItComputed) {
  Gathering engine(test::tiny_options("0.15"));
  engine.add(0, 20);
  for (int i = 0; i < 5; ++i) {
    engine.step();
  }
  const auto gone = (*engine).abort(core::RequestId(0));
  const auto& sequence = static_cast<const Sequence&>(*gone);
  EXPECT_EQ(sequence.num_computed_tokens, 6 + 4) << "four decodes were formed";
  EXPECT_EQ(sequence.num_output_tokens, 1 + 3) << "of which three have ended";
  EXPECT_EQ((*engine).counts().used_blocks, 0);
  EXPECT_TRUE((*engine).decodes().empty());
}

TEST(SchedulerMembers, NoneIsASumWhereBlocksMaySoonBeMissing) {
  EngineOptions options = test::tiny_options("0.15");
  options.num_gpu_blocks = core::Blocks(1 + 5);
  Gathering engine(options);
  engine.add(0, 10);
  engine.add(1, 10);
  engine.step();
  EXPECT_EQ((*engine).counts().free_blocks, 1);
  EXPECT_EQ(engine.step(), 2);
  EXPECT_EQ(engine.members(), 0);
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
