#include "scenario/draft_acceptance.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace ridgeline::scenario {
namespace {

/// Tokens of a verification by the probabilities of its drafts.
double tokens_of(const PublishedAcceptance& found) {
  double tokens = 1.0;
  double reached = 1.0;
  for (const double probability : found.given_previous) {
    reached *= probability;
    tokens += reached;
  }
  return tokens;
}

TEST(PublishedAcceptance, IsTheNetworksOwnWhereItHasACurve) {
  const auto found = published_acceptance("mtp", "glm-5.2-fp8", 3);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->networks, "glm-5.2");
  EXPECT_EQ(found->given_previous.size(), 3U);
  EXPECT_NEAR(found->tokens, 2.99, 1e-9);
  EXPECT_NEAR(tokens_of(*found), 2.99, 1e-9);
  EXPECT_NEAR(found->given_previous[0], 0.84, 1e-9);
}

TEST(PublishedAcceptance, IsTheMeanOfBothModesOfANetwork) {
  const auto found = published_acceptance("mtp", "deepseek-v4-pro", 3);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->tokens, (2.49 + 2.97) / 2.0, 1e-9);
  EXPECT_EQ(found->lowest, 2.49);
  EXPECT_EQ(found->highest, 2.97);
}

TEST(PublishedAcceptance, IsAllNetworksForOneWithoutACurve) {
  const auto found = published_acceptance("eagle3", "llama-3.1-8b", 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->networks, "kimi-k2.5, minimax-m3");
  EXPECT_NEAR(found->tokens, (1.83 + 1.8 + 1.78 + 1.84) / 4.0, 1e-9);
}

/// Curves fall here and there by chance, and end at eight drafts.
TEST(PublishedAcceptance, FurtherDraftsNeverBringLess) {
  double before = 1.0;
  for (std::int64_t drafts = 1; drafts <= 20; ++drafts) {
    const auto found = published_acceptance("mtp", "deepseek-v4-pro", drafts);
    ASSERT_TRUE(found.has_value());
    EXPECT_GE(found->tokens, before);
    for (const double probability : found->given_previous) {
      EXPECT_GE(probability, 0.0);
      EXPECT_LE(probability, 1.0);
    }
    before = found->tokens;
  }
}

TEST(PublishedAcceptance, NgramsHaveNone) {
  EXPECT_FALSE(published_acceptance("ngram", "llama-3.1-8b", 3).has_value());
  EXPECT_FALSE(has_published_acceptance("ngram"));
  EXPECT_TRUE(has_published_acceptance("mtp"));
}

}  // namespace
}  // namespace ridgeline::scenario
