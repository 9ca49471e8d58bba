#include "openai/other_requests.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "openai/api.hpp"

namespace ridgeline::openai {
namespace {

constexpr ApiVersion kVersion{.minor = 20};

ApiError refusal_of(const ApiResult<GenerationRequest>& result) {
  return result ? ApiError{.status = 0} : result.error();
}

TEST(ResponseBody, IsAChat) {
  const auto request = parse_response(
      R"({"model":"m","instructions":"be brief","input":[
          {"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_image"}]},
          {"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
          {"type":"function_call_output","call_id":"c","output":"4"}],
          "max_output_tokens":5,"stream":true,"temperature":0.5,"user":"u",
          "text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}},
          "tools":[{"type":"function","name":"f","parameters":{"type":"object"}},
                   {"type":"web_search"}],
          "tool_choice":{"type":"function","name":"f"}})",
      kVersion);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->api, Api::kResponses);
  ASSERT_EQ(request->messages.size(), 4U);
  EXPECT_EQ(request->messages[0].role, "system");
  EXPECT_EQ(request->messages[1].text, "hi");
  EXPECT_EQ(request->messages[1].images, 1);
  EXPECT_EQ(request->messages[2].role, "assistant");
  EXPECT_EQ(request->messages[3].text, "4");
  EXPECT_EQ(request->max_tokens, 5);
  EXPECT_TRUE(request->stream);
  EXPECT_EQ(request->schema, R"({"type":"object"})");
  ASSERT_EQ(request->tools.size(), 1U);
  EXPECT_EQ(request->tool_choice, ToolChoice::kNamed);
  EXPECT_EQ(request->tool_name, "f");
  EXPECT_EQ(request->echoed.at("temperature"), "0.5");
  EXPECT_EQ(request->echoed.at("user"), R"("u")");
  const auto plain = parse_response(R"({"input":"hi"})", kVersion);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->messages.at(0).text, "hi");
}

TEST(ResponseBody, IsRefusedWithItsReason) {
  EXPECT_EQ(refusal_of(parse_response("{}", kVersion)).param, "body.input");
  EXPECT_EQ(refusal_of(parse_response(R"({"input":5})", kVersion)).status, 400);
  EXPECT_EQ(refusal_of(parse_response(R"({"input":"a","store":5})", kVersion)).param, "body.store");
  EXPECT_EQ(refusal_of(parse_response(R"({"input":"a","prompt":{"id":"p"}})", kVersion)).message,
            "Value error, prompt template is not supported");
  EXPECT_EQ(refusal_of(parse_response(R"({"input":"a","background":true,"store":false})", kVersion))
                .message,
            "Value error, background can only be used when `store` is true");
}

TEST(ResponseBody, SaysWhatIsKept) {
  const auto usual = parse_response(R"({"input":"a"})", kVersion);
  ASSERT_TRUE(usual);
  EXPECT_TRUE(usual->response.is_stored);
  EXPECT_FALSE(usual->response.is_background);
  EXPECT_FALSE(usual->response.previous);
  const auto request = parse_response(
      R"({"input":"a","instructions":"","background":true,"previous_response_id":"resp_x"})",
      kVersion);
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->response.is_background);
  EXPECT_EQ(request->response.previous, "resp_x");
  // Instructions that are empty are none.
  EXPECT_FALSE(request->response.has_instructions);
  EXPECT_EQ(request->messages.size(), 1);
  EXPECT_EQ(request->echoed.at("previous_response_id"), R"("resp_x")");
}

TEST(MessageBody, IsAChat) {
  const auto request = parse_message(
      R"({"model":"m","max_tokens":7,"system":[{"type":"text","text":"be"}],"messages":[
          {"role":"user","content":"hi"},
          {"role":"assistant","content":[{"type":"text","text":"ho"},
              {"type":"tool_use","id":"t","name":"f","input":{"a":1}}]},
          {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"4"},
              {"type":"image","source":{}}]}],
          "stop_sequences":["x"],"tools":[{"name":"f","input_schema":{"type":"object"}}],
          "tool_choice":{"type":"any"}})",
      kVersion);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->api, Api::kMessages);
  ASSERT_EQ(request->messages.size(), 6U);
  EXPECT_EQ(request->messages[0].text, "be");
  EXPECT_NE(request->messages[2].text.find(R"("name":"f")"), std::string::npos);
  EXPECT_EQ(request->messages[3].text, "ho");
  EXPECT_EQ(request->messages[4].role, "tool");
  EXPECT_EQ(request->messages[5].images, 1);
  EXPECT_EQ(request->max_tokens, 7);
  EXPECT_EQ(request->stop.at(0), "x");
  EXPECT_EQ(request->tool_choice, ToolChoice::kRequired);
}

TEST(MessageBody, NeedsItsKeys) {
  constexpr std::string_view kMessages = R"("messages":[{"role":"user","content":"a"}])";
  const std::string no_limit = R"({"model":"m",)" + std::string(kMessages) + "}";
  EXPECT_EQ(refusal_of(parse_message(no_limit, kVersion)).param, "body.max_tokens");
  EXPECT_TRUE(parse_message_to_count(no_limit, kVersion));
  EXPECT_EQ(
      refusal_of(parse_message(R"({"max_tokens":1,)" + std::string(kMessages) + "}", kVersion))
          .param,
      "body.model");
  EXPECT_EQ(
      refusal_of(
          parse_message(R"({"model":"m","max_tokens":0,)" + std::string(kMessages) + "}", kVersion))
          .message,
      "Value error, max_tokens must be positive");
  EXPECT_EQ(refusal_of(parse_message(
                           R"({"model":"m","max_tokens":1,"messages":[{"role":"x","content":""}]})",
                           kVersion))
                .status,
            400);
}

}  // namespace
}  // namespace ridgeline::openai
