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

}  // namespace
}  // namespace ridgeline::openai
