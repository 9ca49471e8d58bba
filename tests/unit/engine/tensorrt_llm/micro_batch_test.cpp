// What a step computes of the requests that have blocks.
#include "engine/tensorrt_llm/micro_batch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/chunking.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

/// "0:8 1:4 | 2": contexts with their tokens, then generations.
std::string text_of(const MicroBatch& batch) {
  std::string text;
  for (const ContextChunk& context : batch.contexts) {
    text += std::to_string(context.sequence->record.id.value()) + ":" +
            std::to_string(context.tokens) + " ";
  }
  text += "|";
  for (const Sequence* const generation : batch.generations) {
    text += " " + std::to_string(generation->record.id.value());
  }
  return text;
}

class MicroBatchTest : public testing::Test {
 protected:
  [[nodiscard]] std::string formed(const MicroBatchLimits& limits) {
    MicroBatch batch;
    form_micro_batch(requests_.all(), requests_.kv(), limits, batch);
    return text_of(batch);
  }
  ActiveRequests requests_{{.num_blocks = 64, .tokens_per_block = 4}};
};

TEST_F(MicroBatchTest, AWholePromptThatDoesNotFitEndsTheStep) {
  requests_.add_generation(4, 4);
  requests_.add_context(20, 4);
  requests_.add_context(12, 4);
  requests_.add_context(2, 4);
  EXPECT_EQ(formed({.max_batch_size = 8, .max_num_tokens = 32}), "1:20 | 0");
}

TEST_F(MicroBatchTest, SoDoesAGeneration) {
  requests_.add_generation(4, 4);
  requests_.add_generation(4, 4);
  requests_.add_generation(4, 4);
  EXPECT_EQ(formed({.max_batch_size = 8, .max_num_tokens = 10, .tokens_per_step = 4}), "| 0 1");
}

TEST_F(MicroBatchTest, CutContextsComeBeforeThoseThatEnd) {
  requests_.add_context(10, 4);
  requests_.add_context(40, 4);
  requests_.add_generation(4, 4);
  EXPECT_EQ(formed({.max_batch_size = 8,
                    .max_num_tokens = 32,
                    .chunk = chunk_first_come_first_served,
                    .chunk_unit = 4}),
            "1:20 0:10 | 2");
}

TEST_F(MicroBatchTest, CountsRequests) {
  requests_.add_context(10, 4);
  requests_.add_context(10, 4);
  EXPECT_EQ(formed({.max_batch_size = 1, .max_num_tokens = 32}), "0:10 |");
}

TEST_F(MicroBatchTest, LeavesOutWhatIsCompletingOrInFlight) {
  Sequence& completing = requests_.add_generation(4, 4);
  completing.output_tokens = 3;
  completing.tokens_in_flight = 1;
  requests_.add_generation(4, 4).parts_in_flight = 1;
  EXPECT_EQ(formed({.max_batch_size = 8, .max_num_tokens = 32}), "| 1");
  EXPECT_EQ(formed({.max_batch_size = 8, .max_num_tokens = 32, .one_step_each = true}), "|");
}

TEST_F(MicroBatchTest, TokensThatTheCacheHoldsAreFree) {
  Sequence& first = requests_.add_context(20, 4, 1);
  requests_.kv().start(first);
  first.holds_blocks = true;
  first.position = 20;
  requests_.kv().store(first, 20, false);
  requests_.add_context(20, 4, 1);
  EXPECT_EQ(formed({.max_batch_size = 8, .max_num_tokens = 8}), "1:1 | 0");
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
