#include "openai/message_form.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "openai/api.hpp"

namespace ridgeline::openai {
namespace {

StreamHead message_head() {
  StreamHead head;
  head.id = "chatcmpl-1";
  head.model = "m";
  head.api = Api::kMessages;
  head.version = {.minor = 15};
  return head;
}

TEST(MessageForm, StreamsBlocksOneAtATime) {
  MessageForm form(message_head());
  std::string out;
  const Usage usage{.prompt_tokens = 3, .completion_tokens = 2, .cached_tokens = {}};
  form.add_start(0, usage, false, out);
  form.add_tokens({.text = "a", .kind = DeltaKind::kReasoning}, out);
  form.add_tokens({.text = " b\"", .kind = DeltaKind::kContent}, out);
  const std::vector<Choice> choices = {{.text = " b\"", .finish = {.reason = "length"}}};
  form.add_end(choices, usage, false, out);
  EXPECT_EQ(
      out,
      "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"chatcmpl-1\","
      "\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\","
      "\"stop_reason\":null,\"stop_sequence\":null,"
      "\"usage\":{\"input_tokens\":3,\"output_tokens\":0}}}\n\n"
      "event: content_block_start\ndata: {\"type\":\"content_block_start\","
      "\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"},"
      "\"index\":0}\n\n"
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
      "\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"a\"},\"index\":0}\n\n"
      "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
      "event: content_block_start\ndata: {\"type\":\"content_block_start\","
      "\"content_block\":{\"type\":\"text\",\"text\":\"\"},\"index\":1}\n\n"
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
      "\"delta\":{\"type\":\"text_delta\",\"text\":\" b\\\"\"},\"index\":1}\n\n"
      "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
      "event: message_delta\ndata: {\"type\":\"message_delta\","
      "\"delta\":{\"stop_reason\":\"max_tokens\"},"
      "\"usage\":{\"input_tokens\":3,\"output_tokens\":2}}\n\n"
      "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
      "data: [DONE]\n\n");
}

TEST(MessageForm, CallsToolsWithObjects) {
  StreamHead head = message_head();
  head.tool_name = "f";
  head.tool_id = "t";
  MessageForm form(head);
  const Usage usage{.prompt_tokens = 1, .completion_tokens = 1, .cached_tokens = {}};
  Choice choice{.text = R"({"a":1})", .finish = {.reason = "tool_calls"}};
  choice.tool_name = "f";
  choice.tool_id = "t";
  EXPECT_EQ(
      form.whole(std::vector<Choice>{choice}, usage, "null"),
      R"({"id":"chatcmpl-1","type":"message","role":"assistant","content":[)"
      R"({"type":"text","text":""},{"type":"tool_use","id":"t","name":"f","input":{"a":1}}],)"
      R"("model":"m","stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}})");
  choice.finish = {.reason = "length"};
  choice.text = R"({"a")";
  EXPECT_NE(form.whole(std::vector<Choice>{choice}, usage, "null").find(R"("input":{}}])"),
            std::string::npos);
  std::string out;
  form.add_tokens({.text = {}, .kind = DeltaKind::kToolName}, out);
  form.add_tokens({.text = "{}", .kind = DeltaKind::kToolArguments}, out);
  EXPECT_NE(out.find(R"("content_block":{"type":"tool_use","id":"t","name":"f","input":{}})"),
            std::string::npos);
  EXPECT_NE(out.find(R"("delta":{"type":"input_json_delta","partial_json":"{}"},"index":0)"),
            std::string::npos);
}

TEST(MessageForm, FailsInItsOwnWords) {
  MessageForm form(message_head());
  EXPECT_EQ(form.error(not_found("none")),
            R"({"type":"error","error":{"type":"NotFoundError","message":"none"}})");
  // What a schema refuses, vLLM answers before it knows of messages.
  EXPECT_EQ(form.error(bad_request("bad")),
            R"({"error":{"message":"bad","type":"Bad Request","param":null,"code":400}})");
  std::string out;
  form.add_failure(dead_engine(), out);
  EXPECT_TRUE(out.starts_with(
      "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"internal_error\","));
  EXPECT_TRUE(out.ends_with("\n\ndata: [DONE]\n\n"));
}

}  // namespace
}  // namespace ridgeline::openai
