#include "lab/records/data_sets.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

std::optional<TokenCounts> histogram(const std::string& text) {
  return histogram_counts(document::parse_json(text, "record").value());
}

TEST(DataSets, KnownLengthsReplaceAGuessAlone) {
  std::vector<std::string> assumed;
  const auto known =
      data_set_prompts("lm-arena-chat", "real prompts, length not published", assumed);
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(known->law, TokenCounts::Law::kLogNormal);
  // 110 exp(1.5^2 / 2)
  EXPECT_NEAR(known->mean, 338.8, 0.1);
  EXPECT_THAT(assumed, testing::ElementsAre(testing::HasSubstr("lm-arena-chat")));
  EXPECT_FALSE(data_set_prompts("lm-arena-chat", "fixed", assumed));
  EXPECT_FALSE(data_set_prompts("another", "length not published", assumed));
  EXPECT_EQ(assumed.size(), 1U);
}

TEST(DataSets, AHistogramHasEqualBins) {
  const auto counts =
      histogram(R"({"output_histogram": {"edges": [0, 100], "counts": [1, 0, 3, 0]}})");
  ASSERT_TRUE(counts.has_value());
  EXPECT_EQ(counts->up_to, (std::vector{0.25, 0.25, 1.0, 1.0}));
  // A quarter at 12.5, three at 62.5.
  EXPECT_DOUBLE_EQ(counts->mean, 50.0);
}

TEST(DataSets, WhatIsNoHistogramIsNone) {
  EXPECT_FALSE(histogram(R"({})"));
  EXPECT_FALSE(histogram(R"({"output_histogram": {"edges": [0, 100], "counts": []}})"));
  EXPECT_FALSE(histogram(R"({"output_histogram": {"edges": [0], "counts": [1]}})"));
  EXPECT_FALSE(histogram(R"({"output_histogram": {"edges": [9, 3], "counts": [1]}})"));
  EXPECT_FALSE(histogram(R"({"output_histogram": {"edges": ["a", 3], "counts": [1]}})"));
  EXPECT_FALSE(histogram(R"({"output_histogram": {"edges": [0, 9], "counts": [-1]}})"));
}

}  // namespace
}  // namespace ridgeline::records
