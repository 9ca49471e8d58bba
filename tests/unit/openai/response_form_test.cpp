#include "openai/response_form.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "openai/answer_text.hpp"
#include "openai/api.hpp"

namespace ridgeline::openai {
namespace {

StreamHead response_head(int minor) {
  StreamHead head;
  head.id = "resp_1";
  head.created = 7;
  head.model = "m";
  head.api = Api::kResponses;
  head.version = {.minor = minor};
  head.most_tokens = 9;
  return head;
}

/// The names of a stream's events, in order.
std::vector<std::string> names_of(const std::string& stream) {
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = stream.find("event: ", at)) != std::string::npos;) {
    at += 7;
    names.push_back(stream.substr(at, stream.find('\n', at) - at));
  }
  return names;
}

TEST(ResponseForm, HasEveryKeyInOrder) {
  StreamHead head = response_head(15);
  head.echoed = {{"instructions", R"("be")"}, {"temperature", "0"}};
  ResponseForm form(head);
  const Usage usage{.prompt_tokens = 3, .completion_tokens = 2, .cached_tokens = {}};
  const std::vector<Choice> choices = {{.text = "a b", .finish = {.reason = "stop"}}};
  EXPECT_EQ(
      form.whole(choices, usage, "null"),
      R"({"id":"resp_1","created_at":7,"incomplete_details":null,"instructions":"be",)"
      R"("metadata":null,"model":"m","object":"response","output":[{"id":"msg_1","content":[)"
      R"({"annotations":[],"text":"a b","type":"output_text","logprobs":null}],)"
      R"("role":"assistant","status":"completed","type":"message"}],"parallel_tool_calls":true,)"
      R"("temperature":0,"tool_choice":"auto","tools":[],"top_p":1.0,"background":false,)"
      R"("max_output_tokens":9,"max_tool_calls":null,"previous_response_id":null,"prompt":null,)"
      R"("reasoning":null,"service_tier":"auto","status":"completed","text":null,)"
      R"("top_logprobs":null,"truncation":"disabled","usage":{"input_tokens":3,)"
      R"("input_tokens_details":{"cached_tokens":0,"input_tokens_per_turn":[],)"
      R"("cached_tokens_per_turn":[]},"output_tokens":2,"output_tokens_details":)"
      R"({"reasoning_tokens":0,"tool_output_tokens":0,"output_tokens_per_turn":[],)"
      R"("tool_output_tokens_per_turn":[]},"total_tokens":5},"user":null,)"
      R"("input_messages":null,"output_messages":null})");
}

TEST(ResponseForm, OfAnAnswerThatWasCutIsIncomplete) {
  ResponseForm form(response_head(10));
  const std::vector<Choice> choices = {{.text = "a", .finish = {.reason = "length"}}};
  const std::string answer = form.whole(choices, {}, "null");
  EXPECT_NE(answer.find(R"("incomplete_details":{"reason":"max_output_tokens"})"),
            std::string::npos);
  EXPECT_NE(answer.find(R"("status":"incomplete")"), std::string::npos);
  EXPECT_TRUE(answer.ends_with(R"("total_tokens":0},"user":null})"));
}

TEST(ResponseForm, NumbersItsEvents) {
  ResponseForm form(response_head(15));
  const AnswerText text = AnswerText::of_pieces({"r", "a", " b"});
  std::string out;
  form.add_start(0, {}, false, out);
  form.add_tokens({.text = "r", .kind = DeltaKind::kReasoning, .answer = &text, .first = 0}, out);
  form.add_tokens({.text = "a", .answer = &text, .first = 1}, out);
  form.add_tokens({.text = " b", .answer = &text, .first = 2}, out);
  Choice choice{.text = "a b", .finish = {.reason = "stop"}};
  choice.reasoning = "r";
  choice.reasoning_tokens = 1;
  form.add_end(std::vector<Choice>{choice}, {}, false, out);
  EXPECT_EQ(names_of(out),
            (std::vector<std::string>{"response.created",
                                      "response.in_progress",
                                      "response.output_item.added",
                                      "response.reasoning_part.added",
                                      "response.reasoning_text.delta",
                                      "response.reasoning_text.done",
                                      "response.reasoning_part.done",
                                      "response.output_item.done",
                                      "response.output_item.added",
                                      "response.content_part.added",
                                      "response.output_text.delta",
                                      "response.output_text.delta",
                                      "response.output_text.done",
                                      "response.content_part.done",
                                      "response.output_item.done",
                                      "response.completed"}));
  for (int i = 0; i < 16; ++i) {
    EXPECT_NE(out.find("\"sequence_number\":" + std::to_string(i) + ","), std::string::npos) << i;
  }
  EXPECT_NE(
      out.find(R"({"content_index":0,"delta":"a","item_id":"msg_1","logprobs":[],)"
               R"("output_index":1,"sequence_number":10,"type":"response.output_text.delta"})"),
      std::string::npos);
  EXPECT_NE(out.find(R"("output_index":0,"sequence_number":5,"text":"r",)"
                     R"("type":"response.reasoning_text.done")"),
            std::string::npos);
}

TEST(ResponseForm, CallsFunctions) {
  StreamHead head = response_head(15);
  head.tool_name = "f";
  head.tool_id = "call_1";
  ResponseForm form(head);
  std::string out;
  form.add_tokens({.text = {}, .kind = DeltaKind::kToolName}, out);
  form.add_tokens({.text = "{}", .kind = DeltaKind::kToolArguments}, out);
  Choice choice{.text = "{}", .finish = {.reason = "tool_calls"}};
  choice.tool_name = "f";
  form.add_end(std::vector<Choice>{choice}, {}, false, out);
  EXPECT_EQ(names_of(out),
            (std::vector<std::string>{"response.output_item.added",
                                      "response.function_call_arguments.delta",
                                      "response.function_call_arguments.done",
                                      "response.output_item.done",
                                      "response.completed"}));
  EXPECT_NE(out.find(R"({"arguments":"{}","call_id":"call_1","name":"f","type":"function_call",)"
                     R"("id":"fc_1","status":"completed"})"),
            std::string::npos);
}

TEST(ResponseForm, FailsInAnEventOfItsOwn) {
  ResponseForm form(response_head(15));
  std::string out;
  form.add_failure(dead_engine(), out);
  EXPECT_TRUE(out.starts_with("event: error\ndata: {\"code\":\"500\",\"message\":\"EngineCore"));
  EXPECT_TRUE(form.error(not_found("x")).starts_with(R"({"error":{"message":"x")"));
}

}  // namespace
}  // namespace ridgeline::openai
