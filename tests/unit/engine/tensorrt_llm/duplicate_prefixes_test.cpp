// Contexts that wait for a block which another one computes.
#include "engine/tensorrt_llm/duplicate_prefixes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/tensorrt_llm/capacity.hpp"
#include "unit/engine/tensorrt_llm/small_engine.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

using testing::ElementsAre;

KvCacheLimits many_blocks() {
  return {.num_blocks = 64, .tokens_per_block = 4};
}

TEST(DuplicatePrefixes, TheSecondOfTwoEqualPromptsWaits) {
  ActiveRequests requests(many_blocks());
  requests.add_context(9, 2, 1);
  requests.add_context(9, 2, 1);
  requests.add_context(9, 2, 2);
  EXPECT_THAT(requests.select(guaranteed_no_evict).fitting, ElementsAre(0, 2));
  EXPECT_THAT(requests.select(max_utilization).fitting, ElementsAre(0, 2));
  EXPECT_THAT(requests.select(static_batch).fitting, ElementsAre(0, 1, 2));
}

TEST(DuplicatePrefixes, PromptsWithoutAFullBlockInCommonDoNotWait) {
  ActiveRequests requests(many_blocks());
  requests.add_context(3, 2, 1);
  requests.add_context(3, 2, 1);
  EXPECT_THAT(requests.select(guaranteed_no_evict).fitting, ElementsAre(0, 1));
}

TEST(DuplicatePrefixes, AChunkedContextThatRunsCounts) {
  ActiveRequests requests(many_blocks());
  Sequence& first = requests.add_context(12, 2, 1);
  requests.kv().start(first);
  first.holds_blocks = true;
  first.position = 4;
  requests.add_context(12, 2, 1);
  EXPECT_THAT(requests.select(guaranteed_no_evict).fitting, ElementsAre(0));
}

TEST(DuplicatePrefixes, WhatIsStoredIsNotWaitedFor) {
  ActiveRequests requests(many_blocks());
  Sequence& first = requests.add_context(9, 2, 1);
  requests.kv().start(first);
  requests.kv().store(first, 9, false);
  first.holds_blocks = true;
  first.position = 9;
  requests.add_context(9, 2, 1);
  requests.add_context(9, 2, 1);
  EXPECT_THAT(requests.select(guaranteed_no_evict).fitting, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
