#include "openai/text/chat_tokens.hpp"

#include <gtest/gtest.h>

namespace ridgeline::text {
namespace {

TEST(ChatTokens, FollowTheFamily) {
  EXPECT_EQ(chat_tokens_of("meta-llama/Llama-3.1-8B-Instruct"),
            (ChatTokens{.fixed = 1, .per_message = 5, .start = 4}));
  EXPECT_EQ(chat_tokens_of("Qwen/Qwen3-32B"),
            (ChatTokens{.fixed = 0, .per_message = 5, .start = 3}));
  EXPECT_TRUE(chat_tokens_of("deepseek-ai/DeepSeek-V3").marks_roles_alone);
}

TEST(ChatTokens, StandAroundMessages) {
  const Around llama = around(chat_tokens_of("llama"), "user");
  EXPECT_EQ(llama.before, 4);
  EXPECT_EQ(llama.behind, 1);
  const ChatTokens deepseek = chat_tokens_of("deepseek-v3");
  EXPECT_EQ(around(deepseek, "system").before, 0);
  EXPECT_EQ(around(deepseek, "user").before, 1);
  EXPECT_EQ(around(deepseek, "assistant").behind, 1);
}

}  // namespace
}  // namespace ridgeline::text
