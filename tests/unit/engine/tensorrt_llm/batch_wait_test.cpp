// Contexts that wait beside generations.
#include "engine/tensorrt_llm/batch_wait.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/micro_batch.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

class BatchWaitTest : public testing::Test {
 protected:
  /// Whether a step of one generation and a context of so many tokens keeps the context.
  bool runs(BatchWait& wait, std::int64_t prompt, bool generates = true) {
    Sequence& context = requests_.add_context(prompt, 4);
    MicroBatch batch;
    batch.contexts.push_back({.sequence = &context, .rest = prompt, .tokens = prompt});
    if (generates) {
      batch.generations.push_back(&generation_);
    }
    wait.apply(batch);
    return !batch.contexts.empty();
  }
  ActiveRequests requests_{{.num_blocks = 64, .tokens_per_block = 4}};
  Sequence& generation_ = requests_.add_generation(4, 4);
};

TEST_F(BatchWaitTest, ForSoManyIterations) {
  BatchWait wait(2, 100.0, 1);
  EXPECT_FALSE(runs(wait, 10));
  EXPECT_FALSE(runs(wait, 10));
  EXPECT_TRUE(runs(wait, 10));
  EXPECT_FALSE(runs(wait, 10)) << "it counts anew";
}

TEST_F(BatchWaitTest, UntilThereAreEnoughTokens) {
  BatchWait wait(5, 20.0, 1);
  EXPECT_FALSE(runs(wait, 18));
  EXPECT_TRUE(runs(wait, 19));
}

TEST_F(BatchWaitTest, NotWithoutGenerations) {
  BatchWait wait(5, 20.0, 1);
  EXPECT_TRUE(runs(wait, 1, false));
}

TEST_F(BatchWaitTest, NotWhereItIsOff) {
  BatchWait wait(0, 0.0, 1);
  EXPECT_TRUE(runs(wait, 1));
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
