#include "openai/prompt_builder.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "openai/text/chat_tokens.hpp"

namespace ridgeline::openai {
namespace {

constexpr core::Tokens kBlock(4);

domain::Prompt prompt_of(std::string_view text, std::uint64_t salt = 0) {
  PromptBuilder builder(kBlock, salt);
  builder.add_text(text);
  return builder.take();
}

TEST(PromptBuilder, CutsAtBlocks) {
  const domain::Prompt prompt = prompt_of("the and for this that with");
  ASSERT_EQ(prompt.size(), 2U);
  EXPECT_EQ(prompt[0].length, core::Tokens(4));
  EXPECT_EQ(prompt[1].length, core::Tokens(2));
}

TEST(PromptBuilder, LeavesOutABeginning) {
  PromptBuilder builder(kBlock, 0);
  builder.leave_out(4);
  builder.add_special(2, "begin");
  builder.add_text("the and for this that");
  EXPECT_EQ(builder.tokens(), core::Tokens(3));
  EXPECT_EQ(builder.take(), prompt_of(" for this that"));
}

TEST(PromptBuilder, SharesBlocksOfEqualBeginnings) {
  const domain::Prompt one = prompt_of("the and for this that");
  const domain::Prompt other = prompt_of("the and for this with");
  EXPECT_EQ(one[0], other[0]);
  EXPECT_NE(one[1], other[1]);
  EXPECT_NE(prompt_of("the and for this", 1)[0], one[0]);
}

TEST(PromptBuilder, TellsIdsFromText) {
  PromptBuilder builder(kBlock, 0);
  const std::vector<std::int64_t> ids = {1000, 1001, 1002, 1003};
  builder.add_ids(ids);
  EXPECT_FALSE(builder.is_estimate());
  EXPECT_NE(builder.take()[0], prompt_of("the and for this")[0]);
}

TEST(PromptBuilder, KnowsWhatIsAnEstimate) {
  PromptBuilder builder(kBlock, 0);
  builder.add_text("the");
  EXPECT_FALSE(builder.is_estimate());
  builder.add_text(" zyzzyva");
  EXPECT_TRUE(builder.is_estimate());
}

TEST(AddChat, HoldsAnAnswerOfThisServerByItsRequest) {
  const text::ChatTokens special{.fixed = 1, .per_message = 5, .start = 4};
  const FindAnswer find = [](std::string_view text) -> std::optional<KnownAnswer> {
    return text == "answer" ? std::optional(KnownAnswer{.request = core::RequestId(7),
                                                        .tokens = core::Tokens(3)})
                            : std::nullopt;
  };
  const std::vector<Message> first = {{.role = "user", .text = "the and"}};
  std::vector<Message> second = first;
  second.push_back({.role = "assistant", .text = "answer"});
  second.push_back({.role = "user", .text = "for"});
  PromptBuilder one(kBlock, 0);
  add_chat(one, first, "", special, true, 0, find);
  EXPECT_EQ(one.tokens(), core::Tokens(1 + 5 + 2 + 4));
  PromptBuilder other(kBlock, 0);
  add_chat(other, second, "", special, true, 0, find);
  EXPECT_EQ(other.tokens(), core::Tokens(1 + 5 + 2 + 5 + 3 + 5 + 1 + 4));
  const domain::Prompt before = one.take();
  const domain::Prompt after = other.take();
  // The second prompt begins as the first one, and goes on with its answer.
  for (std::size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(before[i], after[i]);
  }
  EXPECT_EQ(after[before.size()].content, domain::output_content(core::RequestId(7)));
  EXPECT_EQ(after[before.size()].length, core::Tokens(3));
}

TEST(HashText, DependsOnTextAndSeed) {
  EXPECT_EQ(hash_text("a"), hash_text("a"));
  EXPECT_NE(hash_text("a"), hash_text("b"));
  EXPECT_NE(hash_text("a"), hash_text("a", 1));
}

}  // namespace
}  // namespace ridgeline::openai
