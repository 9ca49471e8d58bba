// Blocks of the next step alone, and the request that gives way for them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/capacity.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(MaxUtilization, AContextNeedsTheBlocksOfItsPromptAlone) {
  ActiveRequests requests(eight_blocks());
  requests.add_context(16, 100);
  requests.add_context(16, 100);
  EXPECT_THAT(requests.select(max_utilization).fitting, ElementsAre(0, 1));
}

/// Three requests hold all blocks, full to the last token: each needs one more, and the third gives
/// way, which is enough for the other two.
TEST(MaxUtilization, TheLastOneThatHasStartedGivesWay) {
  ActiveRequests requests(eight_blocks());
  requests.add_generation(12, 4);
  requests.add_generation(12, 4);
  requests.add_generation(8, 4);
  requests.add_context(4, 4);
  const auto selected = requests.select(max_utilization);
  EXPECT_THAT(selected.fitting, ElementsAre(0, 1));
  EXPECT_THAT(selected.paused, ElementsAre(2));
}

TEST(MaxUtilization, ARequestMayHaveToPauseItself) {
  ActiveRequests requests({.num_blocks = 2, .tokens_per_block = 4});
  requests.add_generation(8, 4);
  const auto selected = requests.select(max_utilization);
  EXPECT_THAT(selected.fitting, IsEmpty());
  EXPECT_THAT(selected.paused, ElementsAre(0));
}

/// The second one of the two is full after the step to come.
TEST(MaxUtilization, LooksAStepFurtherWhereAsked) {
  ActiveRequests requests({.num_blocks = 2, .tokens_per_block = 4});
  requests.add_generation(3, 4);
  requests.add_generation(3, 4);
  EXPECT_THAT(requests.select(max_utilization).fitting, ElementsAre(0, 1));
  EXPECT_THAT(requests.select(max_utilization, 8, 2).paused, ElementsAre(1));
}

TEST(MaxUtilization, ARequestBeyondTheMostDoesNotFitEither) {
  ActiveRequests requests(eight_blocks());
  requests.add_generation(4, 4);
  requests.add_generation(4, 4);
  const auto selected = requests.select(max_utilization, 1);
  EXPECT_THAT(selected.fitting, ElementsAre(0));
  EXPECT_THAT(selected.paused, ElementsAre(1));
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
