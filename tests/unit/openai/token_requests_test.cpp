#include "openai/token_requests.hpp"

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

TEST(ParseTokenize, TakesAPromptOrMessages) {
  EXPECT_EQ(parse_tokenize(R"({"prompt":"a"})")->prompt, "a");
  EXPECT_EQ(parse_tokenize(R"({"messages":[{"role":"user","content":"a"}]})")->messages.size(), 1U);
  EXPECT_FALSE(parse_tokenize("{}").has_value());
}

TEST(ParseDetokenize, TakesIds) {
  EXPECT_EQ(parse_detokenize(R"({"tokens":[1000,2]})")->tokens.size(), 2U);
  EXPECT_FALSE(parse_detokenize(R"({"tokens":["a"]})").has_value());
}

TEST(ParseAdapter, TakesNameAndPath) {
  const auto adapter = parse_adapter(R"({"lora_name":"a","lora_path":"p"})");
  EXPECT_EQ(adapter->name, "a");
  EXPECT_EQ(adapter->path, "p");
}

TEST(WorkerCall, HasAMethod) {
  EXPECT_EQ(parse_worker_call(R"({"method":"check_health","args":[]})").value(), "check_health");
  for (const char* text : {"{}", R"({"method":null})", R"({"method":7})", "[", ""}) {
    EXPECT_FALSE(parse_worker_call(text).has_value()) << text;
  }
  EXPECT_EQ(parse_worker_call("{}").error().message, "Missing 'method' in request body");
}

}  // namespace
}  // namespace ridgeline::openai
