#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/chunking.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

/// Rounds of 4: (4 2 4), (8 2 4) as 8 more do not fit, and no further.
TEST(ChunkEqualProgress, TakesUnitsInTurn) {
  std::vector<ContextChunk> contexts = {{.rest = 32}, {.rest = 2}, {.rest = 25}};
  chunk_equal_progress(contexts, 16, 4);
  EXPECT_EQ(contexts[0].tokens, 8);
  EXPECT_EQ(contexts[1].tokens, 2);
  EXPECT_EQ(contexts[2].tokens, 4);
}

TEST(ChunkEqualProgress, StopsWithoutRoomForAUnit) {
  std::vector<ContextChunk> contexts = {{.rest = 32}};
  chunk_equal_progress(contexts, 3, 4);
  EXPECT_EQ(contexts[0].tokens, 0);
}

TEST(ChunkEqualProgress, APolicyHasItsScheduler) {
  EXPECT_EQ(chunking_scheduler(ChunkingPolicy::kEqualProgress), chunk_equal_progress);
  EXPECT_EQ(chunking_scheduler(ChunkingPolicy::kFirstComeFirstServed),
            chunk_first_come_first_served);
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
