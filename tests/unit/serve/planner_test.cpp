#include "serve/planner.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "openai/api_version.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/request.hpp"
#include "serve/generation.hpp"
#include "serve/known_answers.hpp"
#include "serve/settings.hpp"
#include "workload/options.hpp"

namespace ridgeline::serve {
namespace {

Settings some_settings() {
  Settings settings;
  settings.model_names = {"m"};
  settings.version = openai::ApiVersion::newest();
  return settings;
}

openai::ApiResult<Plan> plan_of(std::string_view body,
                                bool is_chat = false,
                                const Settings& settings = some_settings()) {
  auto wanted = is_chat ? openai::parse_chat(body, settings.version)
                        : openai::parse_completion(body, settings.version);
  EXPECT_TRUE(wanted.has_value());
  PlanFacts facts;
  facts.max_model_len = 1000;
  facts.block_size = core::Tokens(16);
  return make_plan(
      *wanted, settings, facts, [](std::string_view) -> std::optional<openai::KnownAnswer> {
        return std::nullopt;
      });
}

TEST(Plan, OfACompletionIsSixteenTokensUnlessItSays) {
  const auto plan = plan_of(R"({"prompt":"the and"})");
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->requests.size(), 1U);
  EXPECT_EQ(plan->requests[0].request.prompt_tokens, core::Tokens(2));
  EXPECT_EQ(plan->requests[0].asked_tokens, 16);
  EXPECT_FALSE(plan->is_estimate);
}

TEST(Plan, HasARequestForEachChoiceOfEachPrompt) {
  const auto plan = plan_of(R"({"prompt":["the","and"],"n":3,"max_tokens":4})");
  ASSERT_EQ(plan->requests.size(), 6U);
  EXPECT_EQ(plan->generation.prompt_tokens.size(), 2U);
  EXPECT_EQ(plan->generation.choices[5].prompt, 1U);
  EXPECT_EQ(plan->requests[5].n, 3);
}

TEST(Plan, KeepsTheLengthsThatAClientForces) {
  EXPECT_EQ(plan_of(R"({"prompt":"the","max_tokens":9,"ignore_eos":true})")
                ->requests[0]
                .request.output_tokens,
            core::Tokens(9));
  const auto drawn =
      plan_of(R"({"prompt":"the","max_tokens":9,"vllm_xargs":{"ridgeline_output_tokens":4}})");
  EXPECT_EQ(drawn->requests[0].request.output_tokens, core::Tokens(4));
  EXPECT_EQ(drawn->requests[0].request.max_tokens, core::Tokens(9));
  EXPECT_EQ(drawn->generation.choices[0].finish.reason, "stop");
}

TEST(Plan, ComputesATokenMoreThanAStopStringShows) {
  const auto plan = plan_of(R"({"prompt":"the","max_tokens":30,"stop":" "})");
  const ChoiceState& choice = plan->generation.choices[0];
  EXPECT_EQ(choice.length, 2);
  EXPECT_EQ(plan->requests[0].visible_tokens, 2);
  EXPECT_EQ(plan->requests[0].request.output_tokens, core::Tokens(3));
  EXPECT_EQ(choice.finish.stop, " ");
}

TEST(Plan, RefusesWhatIsTooLong) {
  const auto plan = plan_of(R"({"prompt":"the","max_tokens":1000})");
  ASSERT_FALSE(plan.has_value());
  EXPECT_EQ(plan.error().param, "input_tokens");
  EXPECT_TRUE(plan.error().message.starts_with(
      "This model's maximum context length is 1000 tokens. However, you requested 1000 output"));
}

TEST(Plan, RefusesAnAnswerThatIsTooLargeAtOnce) {
  Settings settings = some_settings();
  // 128 choices of 900 tokens, each 21 times with its bytes: 128 * 900 * 21 * 48 bytes and more.
  const auto body = [](const std::string& more) {
    return R"({"messages":[{"role":"user","content":"the"}],"n":128,"max_tokens":900,)"
           R"("ignore_eos":true)" +
           more + "}";
  };
  EXPECT_TRUE(plan_of(body(""), true, settings).has_value());
  const auto large = plan_of(body(R"(,"logprobs":true,"top_logprobs":20)"), true, settings);
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().status, 400);
  EXPECT_NE(large.error().message.find("64 MiB"), std::string::npos);
  // A stream is never in memory as a whole.
  EXPECT_TRUE(plan_of(body(R"(,"logprobs":true,"top_logprobs":20,"stream":true)"), true, settings));
}

TEST(Plan, OfToolsNeedsAParser) {
  constexpr std::string_view kBody =
      R"({"messages":[{"role":"user","content":"the"}],"tools":[{"type":"function","function":)"
      R"({"name":"f","parameters":{"type":"object"}}}]})";
  EXPECT_FALSE(plan_of(kBody, true).has_value());
  Settings settings = some_settings();
  settings.has_auto_tools = true;
  settings.has_tool_parser = true;
  const auto plan = plan_of(kBody, true, settings);
  ASSERT_TRUE(plan.has_value());
  EXPECT_TRUE(plan->generation.is_tool_call);
  EXPECT_EQ(plan->generation.head.tool_name, "f");
  EXPECT_EQ(plan->generation.choices[0].finish.reason, "tool_calls");
}

TEST(DrawnLength, FollowsTheNumberOfTheRequest) {
  Settings settings = some_settings();
  EXPECT_EQ(drawn_length(settings, 3, 50, true), 50);
  const std::int64_t drawn = drawn_length(settings, 3, 5000, false);
  EXPECT_EQ(drawn_length(settings, 3, 5000, false), drawn);
  EXPECT_NE(drawn_length(settings, 4, 5000, false), drawn);
  settings.output_len = workload::FixedLength{core::Tokens(7)};
  EXPECT_EQ(drawn_length(settings, 3, 50, true), 7);
}

TEST(KnownAnswers, AreTheLastOnes) {
  KnownAnswers known(2);
  known.remember("a", {.request = core::RequestId(1), .tokens = core::Tokens(4)});
  known.remember("b", {.request = core::RequestId(2), .tokens = core::Tokens(5)});
  EXPECT_EQ(known.find("a")->tokens, core::Tokens(4));
  known.remember("c", {.request = core::RequestId(3), .tokens = core::Tokens(6)});
  EXPECT_FALSE(known.find("a").has_value());
  EXPECT_EQ(known.find("c")->request, core::RequestId(3));
}

}  // namespace
}  // namespace ridgeline::serve
