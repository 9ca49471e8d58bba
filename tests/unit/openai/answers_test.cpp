#include "openai/answers.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

StreamHead head_of(bool is_chat, int minor) {
  StreamHead head;
  head.id = "x-1";
  head.created = 5;
  head.model = "m";
  head.api = is_chat ? Api::kChat : Api::kCompletions;
  head.version = {.minor = minor, .patch = 0};
  return head;
}

std::vector<Choice> one_choice() {
  Choice choice;
  choice.text = "hi";
  choice.finish.reason = "length";
  return {choice};
}

TEST(CompletionAnswer, HasTheKeysOfItsVersion) {
  const Usage usage{.prompt_tokens = 1, .completion_tokens = 2, .cached_tokens = {}};
  EXPECT_EQ(whole_answer(head_of(false, 8), one_choice(), usage),
            R"({"id":"x-1","object":"text_completion","created":5,"model":"m","choices":[)"
            R"({"index":0,"text":"hi","logprobs":null,"finish_reason":"length",)"
            R"("stop_reason":null,"prompt_logprobs":null}],"usage":{"prompt_tokens":1,)"
            R"("total_tokens":3,"completion_tokens":2,"prompt_tokens_details":null}})");
  EXPECT_NE(whole_answer(head_of(false, 15), one_choice(), usage)
                .find(R"("service_tier":null,"system_fingerprint":null,"usage")"),
            std::string::npos);
}

TEST(ChatAnswer, LeavesToolCallsOutWhereThereAreNone) {
  const Usage usage{.prompt_tokens = 1, .completion_tokens = 2, .cached_tokens = 4};
  const std::string answer = whole_answer(head_of(true, 15), one_choice(), usage);
  EXPECT_EQ(answer.find("tool_calls"), std::string::npos);
  EXPECT_NE(answer.find(R"("message":{"role":"assistant","content":"hi","refusal":null)"),
            std::string::npos);
  EXPECT_NE(answer.find(R"("prompt_tokens_details":{"cached_tokens":4})"), std::string::npos);
}

TEST(ChatAnswer, HoldsAToolCall) {
  std::vector<Choice> choices = one_choice();
  choices[0].text = R"({"a": 1})";
  choices[0].tool_name = "f";
  choices[0].tool_id = "t";
  EXPECT_NE(whole_answer(head_of(true, 15), choices, {})
                .find(R"("tool_calls":[{"id":"t","type":"function","function":{"name":"f",)"
                      R"("arguments":"{\"a\": 1}"}}])"),
            std::string::npos);
}

TEST(Logprobs, AreWellFormedForEveryToken) {
  const AnswerText text = AnswerText::of_pieces({"a", " b"});
  EXPECT_EQ(logprobs_json(text, 0, 2, 1, false, 0),
            R"({"text_offset":[0,1],"token_logprobs":[-0.25,-0.25],"tokens":["a"," b"],)"
            R"("top_logprobs":[{"a":-0.25},{" b":-0.25}]})");
  EXPECT_EQ(logprobs_json(text, 0, 1, 0, true, 0),
            R"({"content":[{"token":"a","logprob":-0.25,"bytes":[97],"top_logprobs":[]}]})");
  EXPECT_EQ(
      logprobs_json(text, 0, 1, 1, false, 0, "the and"),
      R"({"text_offset":[0,3,7],"token_logprobs":[null,-0.25,-0.25],"tokens":["the"," and","a"],)"
      R"("top_logprobs":[null,{" and":-0.25},{"a":-0.25}]})");
  EXPECT_EQ(token_ids_json(AnswerText::of_pieces({"the"}), 0, 2), "[1000,1000]");
}

TEST(ModelsAnswer, ListsModelsAndAdapters) {
  const std::vector<ModelCard> cards = {
      {.id = "m", .root = "r", .parent = std::nullopt, .max_model_len = 10},
      {.id = "a", .root = "a", .parent = "m"}};
  const std::string answer = models_answer(cards, 7);
  EXPECT_NE(answer.find(R"("id":"m","object":"model","created":7,"owned_by":"vllm","root":"r",)"
                        R"("parent":null,"max_model_len":10)"),
            std::string::npos);
  EXPECT_NE(answer.find(R"("parent":"m","max_model_len":null)"), std::string::npos);
}

TEST(TokenizeAnswer, HasCountsAndTexts) {
  const std::vector<std::int64_t> ids = {1, 2};
  EXPECT_EQ(tokenize_answer(ids, std::nullopt, 5),
            R"({"count":2,"max_model_len":5,"tokens":[1,2],"token_strs":null})");
  EXPECT_EQ(tokenize_answer(ids, std::vector<std::string>{"a", "b"}, 5),
            R"({"count":2,"max_model_len":5,"tokens":[1,2],"token_strs":["a","b"]})");
  EXPECT_EQ(detokenize_answer("a\"b"), R"({"prompt":"a\"b"})");
}

TEST(Answers, ThePromptsFirstTokenHasNoLogprob) {
  const std::vector<std::uint32_t> tokens = {1, 1000, 126'000};
  EXPECT_EQ(prompt_logprobs_json(tokens),
            R"([null,{"1000":{"logprob":-0.25,"rank":1,"decoded_token":" the"}},)"
            R"({"126000":{"logprob":-0.25,"rank":1,"decoded_token":null}}])");
  EXPECT_EQ(prompt_logprobs_json({}), "[]");
  EXPECT_EQ(prompt_token_ids_json(tokens), "[1,1000,126000]");
}

}  // namespace
}  // namespace ridgeline::openai
