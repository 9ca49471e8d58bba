#include "openai/text/splitter.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::text {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string_view> split(std::string_view expression,
                                    SplitBehavior behavior,
                                    std::string_view text,
                                    bool is_inverted = false) {
  const auto splitter = Splitter::make(expression, behavior, is_inverted);
  EXPECT_TRUE(splitter);
  std::vector<std::string_view> parts;
  splitter->split(text, parts);
  return parts;
}

// The examples of the tokenizers library's documentation of SplitDelimiterBehavior.
TEST(Splitter, DoesWithMatchesAsItsBehaviorSays) {
  constexpr std::string_view kText = "the-final--countdown";
  EXPECT_THAT(split("-", SplitBehavior::kRemoved, kText), ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split("-", SplitBehavior::kIsolated, kText),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(split("-", SplitBehavior::kMergedWithPrevious, kText),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(split("-", SplitBehavior::kMergedWithNext, kText),
              ElementsAre("the", "-final", "-", "-countdown"));
}

TEST(Splitter, TakesTheRestForMatches) {
  EXPECT_THAT(split("[a-z]+", SplitBehavior::kRemoved, "one, two", true),
              ElementsAre("one", "two"));
}

TEST(Splitter, KnowsLettersOfAllScripts) {
  EXPECT_THAT(split(R"(\p{L}+|\p{N}{1,3}|\s+(?!\S)|\s+)", SplitBehavior::kIsolated, "ж漢a1234  é "),
              ElementsAre("ж漢a", "123", "4", " ", " ", "é", " "));
}

TEST(Splitter, KeepsTextOfEmptyMatchesAndOfNone) {
  EXPECT_THAT(split("x*", SplitBehavior::kIsolated, "äxb"), ElementsAre("ä", "x", "b"));
  EXPECT_THAT(split("x", SplitBehavior::kIsolated, ""), IsEmpty());
  EXPECT_THAT(split("x", SplitBehavior::kMergedWithPrevious, "xx"), ElementsAre("x", "x"));
  EXPECT_THAT(split("x", SplitBehavior::kMergedWithNext, "axx"), ElementsAre("a", "x", "x"));
}

TEST(Splitter, LeavesWhatIsNotUtf8InOnePart) {
  EXPECT_THAT(split("a", SplitBehavior::kIsolated, "a\xffzb"), ElementsAre("a\xffzb"));
}

TEST(Splitter, GivesUpAnExpressionThatTakesTooLong) {
  const std::string text(60, 'a');
  EXPECT_THAT(split("(a+a+)+b", SplitBehavior::kIsolated, text), ElementsAre(text));
}

TEST(Splitter, RefusesWhatIsNoExpression) {
  const auto splitter = Splitter::make("(a", SplitBehavior::kIsolated);
  ASSERT_FALSE(splitter);
  EXPECT_EQ(splitter.error().front().message,
            "the regular expression \"(a\" cannot be read at its character 3: missing closing "
            "parenthesis");
}

TEST(LiteralExpression, MatchesItsTextAlone) {
  EXPECT_THAT(split(literal_expression("a.▁("), SplitBehavior::kIsolated, "axa.▁("),
              ElementsAre("ax", "a.▁("));
}

}  // namespace
}  // namespace ridgeline::text
