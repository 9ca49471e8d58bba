// No context beside a generation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/capacity.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

using testing::ElementsAre;

TEST(StaticBatch, ContextsWaitForTheLastGeneration) {
  ActiveRequests requests(eight_blocks());
  requests.add_generation(4, 4);
  requests.add_context(4, 4);
  EXPECT_THAT(requests.select(static_batch).fitting, ElementsAre(0));
}

TEST(StaticBatch, ABatchIsWhatHasBlocksToItsLastToken) {
  ActiveRequests requests(eight_blocks());
  requests.add_context(12, 4);
  requests.add_context(12, 4);
  requests.add_context(4, 1);
  EXPECT_THAT(requests.select(static_batch).fitting, ElementsAre(0, 1));
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
