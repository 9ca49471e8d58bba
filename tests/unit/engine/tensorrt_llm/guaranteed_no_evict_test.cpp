// Blocks to the last token, or none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/capacity.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(GuaranteedNoEvict, TheFirstContextThatDoesNotFitEndsThePass) {
  ActiveRequests requests(eight_blocks());
  requests.add_context(12, 4);  // 4 blocks of 8.
  requests.add_context(16, 8);  // 6: does not fit.
  requests.add_context(4, 4);   // 2 would.
  const auto selected = requests.select(guaranteed_no_evict);
  EXPECT_THAT(selected.fitting, ElementsAre(0));
  EXPECT_THAT(selected.paused, IsEmpty());
}

TEST(GuaranteedNoEvict, GenerationsComeFirstAndKeepWhatTheyNeed) {
  ActiveRequests requests(eight_blocks());
  requests.add_context(8, 4);      // 3 blocks.
  requests.add_generation(8, 12);  // 5 blocks, of which it holds 2.
  requests.add_context(4, 1);      // 2: one block too many.
  EXPECT_THAT(requests.select(guaranteed_no_evict).fitting, ElementsAre(1, 0));
}

TEST(GuaranteedNoEvict, AStartedContextGoesOnWhereNothingElseRuns) {
  ActiveRequests requests(eight_blocks());
  requests.add_context(16, 8);  // 6 blocks, 4 of which the next one holds.
  requests.add_started(16, 4, 8);
  EXPECT_THAT(requests.select(guaranteed_no_evict).fitting, ElementsAre(1));
  requests.add_generation(4, 2);  // It gives its blocks back one day: until then the first waits.
  EXPECT_THAT(requests.select(guaranteed_no_evict).fitting, ElementsAre(2));
}

TEST(GuaranteedNoEvict, CountsRequests) {
  ActiveRequests requests(eight_blocks());
  requests.add_context(4, 1);
  requests.add_context(4, 1);
  EXPECT_THAT(requests.select(guaranteed_no_evict, 1).fitting, ElementsAre(0));
}

TEST(GuaranteedNoEvict, ACapacityPolicyHasItsScheduler) {
  EXPECT_EQ(capacity_scheduler(CapacityPolicy::kGuaranteedNoEvict), guaranteed_no_evict);
  EXPECT_EQ(capacity_scheduler(CapacityPolicy::kMaxUtilization), max_utilization);
  EXPECT_EQ(capacity_scheduler(CapacityPolicy::kStaticBatch), static_batch);
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
