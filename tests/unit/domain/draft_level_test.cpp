#include "domain/draft_level.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::domain {
namespace {

TEST(DraftLevel, IsTheFirstThatReachesSoFar) {
  const std::vector<DraftLevel> levels = {{.most_requests = 4, .drafts = 5},
                                          {.most_requests = 16, .drafts = 2}};
  EXPECT_EQ(drafts_after(levels, 1, 7), 5);
  EXPECT_EQ(drafts_after(levels, 4, 7), 5);
  EXPECT_EQ(drafts_after(levels, 5, 7), 2);
  EXPECT_EQ(drafts_after(levels, 17, 7), 2);
  EXPECT_EQ(drafts_after({}, 17, 7), 7);
}

}  // namespace
}  // namespace ridgeline::domain
