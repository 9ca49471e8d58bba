#include "observe/prompts.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/request.hpp"

namespace ridgeline::observe {
namespace {

domain::Request request(std::uint32_t id, std::int64_t prompt, domain::Prompt segments = {}) {
  domain::Request request;
  request.id = core::RequestId(id);
  request.prompt_tokens = core::Tokens(prompt);
  request.output_tokens = core::Tokens(7);
  request.max_tokens = core::Tokens(7);
  request.prompt = std::move(segments);
  return request;
}

document::Node body(const PromptMaker& maker,
                    const domain::Request& request,
                    const Answers& answers = {}) {
  auto node = document::parse_json(maker.body(request, answers), "body");
  EXPECT_TRUE(node.has_value());
  return *node;
}
std::string prompt(const PromptMaker& maker,
                   const domain::Request& request,
                   const Answers& answers = {}) {
  return body(maker, request, answers).find("prompt")->as_string();
}
std::int64_t count(std::string_view text) {
  return std::ranges::count(text, ' ') + (text.empty() ? 0 : 1);
}

TEST(Prompts, HaveAsManyWordsAsTokensLessTheServersOwn) {
  EXPECT_EQ(count(prompt(PromptMaker({}), request(0, 40))), 40);
  const PromptMaker maker({.overhead = {.first = 3}});
  EXPECT_EQ(count(prompt(maker, request(0, 40))), 37);
  EXPECT_EQ(count(prompt(maker, request(0, 2))), 1);
  EXPECT_TRUE(maker.is_shorter_than_overhead(request(0, 3)));
  EXPECT_FALSE(maker.is_shorter_than_overhead(request(0, 4)));
}

TEST(Prompts, ShareWhatTheirContentsShare) {
  const PromptMaker maker({.salt = 5});
  const domain::Segment common{.content = 9, .length = core::Tokens(20)};
  const domain::Segment shorter{.content = 9, .length = core::Tokens(12)};
  const std::string a = prompt(maker, request(0, 30, {common}));
  const std::string b = prompt(maker, request(1, 30, {common}));
  const std::string c = prompt(maker, request(2, 12, {shorter}));
  EXPECT_NE(a, b);
  EXPECT_EQ(a.substr(0, maker.words(9, 20).size()), maker.words(9, 20));
  EXPECT_TRUE(a.starts_with(c));
  EXPECT_TRUE(b.starts_with(c));
  EXPECT_NE(prompt(PromptMaker({.salt = 6}), request(0, 30, {common})), a);
}

TEST(Prompts, QuoteTheAnswersThatWereGiven) {
  const Answers answers = {{4, "red green"}};
  const domain::Prompt quoting = {
      {.content = 9, .length = core::Tokens(5)},
      {.content = domain::output_content(core::RequestId(4)), .length = core::Tokens(2)},
      {.content = 8, .length = core::Tokens(3)}};
  const PromptMaker maker({.salt = 5});
  EXPECT_EQ(prompt(maker, request(6, 10, quoting), answers),
            maker.words(9, 5) + " red green " + maker.words(8, 3));
  // What was not answered is made up.
  EXPECT_EQ(count(prompt(maker, request(6, 10, quoting))), 10);

  const PromptMaker chat({.endpoint = Endpoint::kChat, .overhead = {10, 2}, .salt = 5});
  domain::Request turn = request(6, 24, quoting);
  turn.prompt_tokens = core::Tokens(24);
  const auto node = body(chat, turn, answers);
  const auto& messages = node.find("messages")->items();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].find("role")->as_string(), "user");
  EXPECT_EQ(messages[0].find("content")->as_string(), maker.words(9, 5));
  EXPECT_EQ(messages[1].find("role")->as_string(), "assistant");
  EXPECT_EQ(messages[1].find("content")->as_string(), "red green");
  // 24 tokens less 10, and 2 for each of two messages more, less 5 and 2 words before it.
  EXPECT_EQ(count(messages[2].find("content")->as_string()), 3);
}

TEST(Prompts, ForceTheLengthUnlessItIsNatural) {
  const auto forced = body(PromptMaker({.model = "m"}), request(0, 4));
  EXPECT_EQ(forced.find("model")->as_string(), "m");
  for (const char* key : {"max_tokens", "min_tokens"}) {
    EXPECT_EQ(forced.find(key)->as_integer(), 7) << key;
  }
  EXPECT_TRUE(forced.find("ignore_eos")->as_bool());
  EXPECT_TRUE(forced.find("stream")->as_bool());
  EXPECT_TRUE(forced.find("stream_options")->find("include_usage")->as_bool());
  const auto natural = body(PromptMaker({.natural_output = true}), request(0, 4));
  EXPECT_EQ(natural.find("max_tokens")->as_integer(), 7);
  EXPECT_EQ(natural.find("min_tokens"), nullptr);
  EXPECT_EQ(natural.find("ignore_eos"), nullptr);
}

TEST(Prompts, OfTokenIdsAreExact) {
  const PromptMaker maker({.form = PromptForm::kTokens, .overhead = {.first = 3}});
  const auto node = body(maker, request(0, 40));
  const auto& ids = node.find("prompt")->items();
  ASSERT_EQ(ids.size(), 40U);
  for (const auto& id : ids) {
    EXPECT_GE(id.as_integer(), 1000);
    EXPECT_LT(id.as_integer(), 31'000);
  }
}

}  // namespace
}  // namespace ridgeline::observe
