#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/chunking.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

TEST(ChunkFirstComeFirstServed, CutsDownToWholeUnits) {
  std::vector<ContextChunk> contexts = {{.rest = 40}, {.rest = 10}, {.rest = 25}};
  chunk_first_come_first_served(contexts, 63, 4);
  EXPECT_EQ(contexts[0].tokens, 40);
  EXPECT_EQ(contexts[1].tokens, 10);
  EXPECT_EQ(contexts[2].tokens, 12) << "of the 13 that are left";
}

TEST(ChunkFirstComeFirstServed, LaterOnesTakeWhatOneCouldNotUse) {
  std::vector<ContextChunk> contexts = {{.rest = 40}, {.rest = 3}};
  chunk_first_come_first_served(contexts, 3, 4);
  EXPECT_EQ(contexts[0].tokens, 0);
  EXPECT_EQ(contexts[1].tokens, 3);
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
