#include "routing/no_hit_lru.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::routing {
namespace {

using testing::ElementsAre;

TEST(NoHitLru, GivesColdRequestsInTurn) {
  NoHitLru lru(3, 2);
  EXPECT_THAT(lru.scores(false), ElementsAre(1.0, 0.5, 0.0));
  lru.give(0);
  EXPECT_THAT(lru.scores(false), ElementsAre(0.0, 1.0, 0.5));
  lru.give(2);
  lru.give(0);
  EXPECT_THAT(lru.scores(false), ElementsAre(0.0, 1.0, 0.5));
  EXPECT_THAT(lru.scores(true), ElementsAre(0.5, 0.5, 0.5));
  lru.give(1);  // It remembers two: 2 counts as never used.
  EXPECT_THAT(lru.scores(false), ElementsAre(0.5, 0.0, 1.0));
}

}  // namespace
}  // namespace ridgeline::routing
