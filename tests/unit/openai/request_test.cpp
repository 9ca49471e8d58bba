#include "openai/request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "openai/api_version.hpp"

namespace ridgeline::openai {
namespace {

constexpr ApiVersion kNewest = ApiVersion::newest();

TEST(ParseCompletion, TakesEveryKindOfPrompt) {
  const auto prompts = [](std::string_view prompt) {
    return parse_completion("{\"prompt\": " + std::string(prompt) + "}", kNewest)->prompts;
  };
  EXPECT_EQ(std::get<std::string>(prompts("\"a b\"").front()), "a b");
  EXPECT_EQ(prompts("[\"a\", \"b\"]").size(), 2U);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(prompts("[1, 2, 3]").front()).size(), 3U);
  EXPECT_EQ(prompts("[[1, 2], [3]]").size(), 2U);
}

TEST(ParseCompletion, TakesTheLastOfTwoKeysAndPassesOverOthers) {
  const auto request =
      parse_completion(R"({"prompt":"a","max_tokens":1,"max_tokens":2,"what":{"x":[1]}})", kNewest);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->max_tokens, 2);
}

TEST(ParseCompletion, ReadsNumbersAsPydanticDoes) {
  EXPECT_EQ(parse_completion(R"({"prompt":"a","max_tokens":"7"})", kNewest)->max_tokens, 7);
  EXPECT_EQ(parse_completion(R"({"prompt":"a","max_tokens":7.0})", kNewest)->max_tokens, 7);
  EXPECT_FALSE(
      parse_completion(R"({"prompt":"a","max_tokens":null})", kNewest)->max_tokens.has_value());
  EXPECT_FALSE(parse_completion(R"({"prompt":"a","max_tokens":7.5})", kNewest).has_value());
  EXPECT_FALSE(parse_completion(R"({"prompt":"a","max_tokens":true})", kNewest).has_value());
}

TEST(ParseCompletion, RefusesWithTheSchemasTypeAndParam) {
  const auto error_of = [](std::string_view body, ApiVersion version = kNewest) {
    return parse_completion(body, version).error();
  };
  EXPECT_EQ(error_of("{").type, "Bad Request");
  EXPECT_EQ(error_of(R"({"prompt":""})").param, "prompt");
  EXPECT_EQ(error_of(R"({"prompt":"a","max_tokens":"x"})").param, "body.max_tokens");
  EXPECT_EQ(error_of(R"({"prompt":"a","stream_options":{}})").param, "stream_options");
  EXPECT_EQ(error_of(R"({"prompt":"a","max_tokens":0})").message,
            "max_tokens must be at least 1, got 0.");
  EXPECT_EQ(error_of(R"({"prompt":"a","max_tokens":1,"min_tokens":2})").type, "BadRequestError");
  EXPECT_EQ(error_of(R"({"prompt":"a","priority":1})", {.minor = 8, .patch = 0}).message,
            "V1 does not support priority yet.");
  EXPECT_EQ(error_of(R"({"prompt":"a","structured_outputs":{"structural_tag":"{}"}})").type,
            "BadRequestError");
  EXPECT_EQ(error_of(R"({"prompt":"a","logprobs":21})").param, "logprobs");
  EXPECT_EQ(error_of(R"({"prompt":"a","guided_grammar":"x"})").param, "guided_grammar");
}

TEST(ParseCompletion, LimitsStopStringsSinceFourAreTheMost) {
  constexpr std::string_view kFive = R"({"prompt":"a","stop":["a","b","c","d","e"]})";
  EXPECT_FALSE(parse_completion(kFive, {.minor = 27, .patch = 0}).has_value());
  EXPECT_TRUE(parse_completion(kFive, {.minor = 20, .patch = 0}).has_value());
}

TEST(ParseCompletion, RefusesDepth) {
  const std::string deep =
      R"({"prompt":"a","x":)" + std::string(100, '[') + std::string(100, ']') + "}";
  EXPECT_FALSE(parse_completion(deep, kNewest).has_value());
}

TEST(ParseChat, JoinsPartsAndCountsImages) {
  const auto request = parse_chat(R"({"messages":[{"role":"user","content":[
      {"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:"}},
      {"type":"text","text":"b"}]},{"role":"assistant","content":null}]})",
                                  kNewest);
  ASSERT_TRUE(request.has_value());
  ASSERT_EQ(request->messages.size(), 2U);
  EXPECT_EQ(request->messages.front().text, "ab");
  EXPECT_EQ(request->messages.front().images, 1);
  EXPECT_FALSE(parse_chat(R"({"messages":[]})", kNewest).has_value());
  EXPECT_FALSE(parse_chat(R"({"messages":[{"content":"a"}]})", kNewest).has_value());
}

TEST(ParseChat, TakesTheNewerLimitOfTokens) {
  const auto request = parse_chat(
      R"({"messages":[{"role":"user","content":"a"}],"max_tokens":5,"max_completion_tokens":3})",
      kNewest);
  EXPECT_EQ(request->max_tokens, 3);
}

TEST(ParseChat, ReadsTools) {
  constexpr std::string_view kTools = R"("tools":[{"type":"function","function":{"name":"f"}}])";
  const auto with = [&](std::string_view choice) {
    return parse_chat(R"({"messages":[{"role":"user","content":"a"}],)" + std::string(kTools) +
                          std::string(choice) + "}",
                      kNewest);
  };
  EXPECT_EQ(with("")->tool_choice, ToolChoice::kAuto);
  EXPECT_EQ(with(R"(,"tool_choice":"none")")->tool_choice, ToolChoice::kNone);
  EXPECT_EQ(with(R"(,"tool_choice":{"type":"function","function":{"name":"f"}})")->tool_choice,
            ToolChoice::kNamed);
  EXPECT_FALSE(with(R"(,"tool_choice":{"type":"function","function":{"name":"g"}})").has_value());
}

}  // namespace
}  // namespace ridgeline::openai
