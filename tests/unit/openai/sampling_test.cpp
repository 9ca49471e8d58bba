#include "openai/sampling.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "openai/api_error.hpp"
#include "openai/request.hpp"

namespace ridgeline::openai {
namespace {

/// The error of a completion with these members; of status 0 where it has none.
ApiError error_of(std::string_view members) {
  const auto parsed =
      parse_completion(R"({"prompt":"a",)" + std::string(members) + "}", ApiVersion::newest());
  return parsed ? ApiError{.status = 0, .type = ""} : parsed.error();
}

TEST(Sampling, WrongValuesAreRefusedAsPythonWordsThem) {
  EXPECT_EQ(error_of(R"("temperature":-1)").message, "temperature must be non-negative, got -1.0.");
  EXPECT_EQ(error_of(R"("top_p":0)").message, "top_p must be in (0, 1], got 0.0.");
  EXPECT_EQ(error_of(R"("top_p":1.5)").message, "top_p must be in (0, 1], got 1.5.");
  EXPECT_EQ(error_of(R"("top_k":-2)").message, "top_k must be 0 (disable), or at least 1, got -2.");
  EXPECT_EQ(error_of(R"("min_p":2)").message, "min_p must be in [0, 1], got 2.0.");
  EXPECT_EQ(error_of(R"("presence_penalty":3)").message,
            "presence_penalty must be in [-2, 2], got 3.0.");
  EXPECT_EQ(error_of(R"("frequency_penalty":-2.5)").message,
            "frequency_penalty must be in [-2, 2], got -2.5.");
  EXPECT_EQ(error_of(R"("repetition_penalty":0)").message,
            "repetition_penalty must be greater than zero, got 0.0.");
  EXPECT_EQ(error_of(R"("truncate_prompt_tokens":0)").message,
            "truncate_prompt_tokens must be an integer >= 1 or -1, got 0");
  for (const std::string_view members : {R"("temperature":-1)", R"("top_p":0)", R"("min_p":2)"}) {
    EXPECT_EQ(error_of(members).type, "BadRequestError") << members;
    EXPECT_EQ(error_of(members).status, 400) << members;
  }
}

TEST(Sampling, TheSchemaComesFirst) {
  EXPECT_EQ(error_of(R"("prompt_logprobs":-2)").type, "Bad Request");
  EXPECT_EQ(error_of(R"("prompt_logprobs":1,"stream":true)").message,
            "Value error, `prompt_logprobs` are not available when `stream=True`.");
  EXPECT_EQ(error_of(R"("seed":"x")").param, "body.seed");
  EXPECT_EQ(error_of(R"("stop_token_ids":["x"])").param, "body.stop_token_ids");
  EXPECT_EQ(error_of(R"("temperature":"hot")").param, "body.temperature");
}

TEST(Sampling, BiasesAreOfTokens) {
  EXPECT_EQ(error_of(R"("logit_bias":{"7":-100,"12":5.5})").status, 0);
  EXPECT_EQ(error_of(R"("logit_bias":null)").status, 0);
  EXPECT_EQ(error_of(R"("logit_bias":{"the":1})").message,
            "invalid literal for int() with base 10: 'the'");
  EXPECT_EQ(error_of(R"("logit_bias":{"7":"much"})").param, "body.logit_bias");
  EXPECT_EQ(error_of(R"("logit_bias":{"7":null})").param, "body.logit_bias");
  EXPECT_EQ(error_of(R"("logit_bias":[7])").param, "body.logit_bias");
  const auto parsed =
      parse_completion(R"({"prompt":"a","logit_bias":{"7":1,"-1":2}})", ApiVersion::newest());
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->biased_tokens, (std::vector<std::int64_t>{7, -1}));
}

TEST(Sampling, ThereIsNoSuffix) {
  EXPECT_EQ(error_of(R"("suffix":"x")").message, "suffix is not currently supported");
  EXPECT_EQ(error_of(R"("suffix":null)").status, 0);
}

TEST(Sampling, LogprobsOfPromptsHaveALimit) {
  EXPECT_EQ(error_of(R"("prompt_logprobs":21)").message,
            "Requested prompt logprobs of 21, which is greater than max allowed: 20");
  EXPECT_EQ(error_of(R"("prompt_logprobs":20)").status, 0);
  EXPECT_EQ(error_of(R"("prompt_logprobs":-1)").status, 0);
}

TEST(Sampling, WhatIsUsualPasses) {
  EXPECT_EQ(
      error_of(R"("temperature":0,"top_p":1,"top_k":-1,"min_p":0,"seed":7,"presence_penalty":2,
      "frequency_penalty":-2,"repetition_penalty":1.1,"prompt_logprobs":0,"stop_token_ids":[1],
      "truncate_prompt_tokens":-1)")
          .status,
      0);
  EXPECT_EQ(
      error_of(R"("temperature":null,"top_p":null,"top_k":null,"stop_token_ids":null)").status, 0);
}

}  // namespace
}  // namespace ridgeline::openai
