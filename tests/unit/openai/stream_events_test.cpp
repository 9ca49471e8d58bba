#include "openai/stream_events.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

StreamHead events_head(bool is_chat, int minor, bool has_usage = false) {
  StreamHead head;
  head.id = "x-1";
  head.created = 5;
  head.model = "m";
  head.api = is_chat ? Api::kChat : Api::kCompletions;
  head.version = {.minor = minor, .patch = 0};
  head.has_usage_at_end = has_usage;
  return head;
}

TokenEventText event_of(DeltaKind kind, std::string_view text) {
  TokenEventText event;
  event.kind = kind;
  event.text = text;
  return event;
}

std::string token_of(const StreamHead& head, std::optional<Finish> finish = std::nullopt) {
  std::string out;
  TokenEventText event = event_of(DeltaKind::kContent, " a\"b");
  event.finish = &finish;
  StreamEvents(head).add_tokens(event, out);
  return out;
}

TEST(StreamEvents, OfACompletionByVersion) {
  EXPECT_EQ(token_of(events_head(false, 8)),
            "data: {\"id\":\"x-1\",\"object\":\"text_completion\",\"created\":5,\"model\":\"m\","
            "\"choices\":[{\"index\":0,\"text\":\" a\\\"b\",\"logprobs\":null,"
            "\"finish_reason\":null,\"stop_reason\":null}]}\n\n");
  EXPECT_EQ(token_of(events_head(false, 15), Finish{.reason = "stop", .stop = "x"}),
            "data: {\"id\":\"x-1\",\"object\":\"text_completion\",\"created\":5,\"model\":\"m\","
            "\"choices\":[{\"index\":0,\"text\":\" a\\\"b\",\"logprobs\":null,"
            "\"finish_reason\":\"stop\",\"stop_reason\":\"x\",\"prompt_token_ids\":null,"
            "\"token_ids\":null}]}\n\n");
}

TEST(StreamEvents, OfAChatByVersion) {
  std::string role;
  StreamEvents(events_head(true, 8)).add_role(0, nullptr, role);
  EXPECT_EQ(role,
            "data: {\"id\":\"x-1\",\"object\":\"chat.completion.chunk\",\"created\":5,"
            "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
            "\"content\":\"\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n");
  EXPECT_EQ(token_of(events_head(true, 8)),
            "data: {\"id\":\"x-1\",\"object\":\"chat.completion.chunk\",\"created\":5,"
            "\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" a\\\"b\"},"
            "\"logprobs\":null,\"finish_reason\":null}]}\n\n");
  const std::string last = token_of(events_head(true, 27), Finish{.reason = "length", .stop = {}});
  EXPECT_NE(last.find("\"finish_reason\":\"length\",\"stop_reason\":null,\"token_ids\":null}],"
                      "\"system_fingerprint\":null}"),
            std::string::npos);
  EXPECT_EQ(token_of(events_head(true, 27, true), Finish{.reason = "length", .stop = {}})
                .find("fingerprint"),
            std::string::npos);
}

TEST(StreamEvents, OfUsage) {
  std::string out;
  StreamEvents(events_head(true, 15))
      .add_usage({.prompt_tokens = 3, .completion_tokens = 4, .cached_tokens = {}}, out);
  EXPECT_TRUE(
      out.ends_with("\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"total_tokens\":7,"
                    "\"completion_tokens\":4}}\n\n"));
}

TEST(StreamEvents, OfAToolCallNameItFirst) {
  StreamHead head = events_head(true, 15);
  head.tool_name = "f";
  head.tool_id = "t";
  const StreamEvents events(head);
  std::string out;
  events.add_tokens(event_of(DeltaKind::kToolName, {}), out);
  EXPECT_NE(out.find("\"delta\":{\"tool_calls\":[{\"id\":\"t\",\"type\":\"function\",\"index\":0,"
                     "\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}"),
            std::string::npos);
  out.clear();
  events.add_tokens(event_of(DeltaKind::kToolArguments, "{\""), out);
  EXPECT_NE(out.find("{\"index\":0,\"function\":{\"arguments\":\"{\\\"\"}}"), std::string::npos);
}

TEST(StreamEvents, OfReasoningHaveTheVersionsKey) {
  const auto with = [](int minor) {
    std::string out;
    StreamEvents(events_head(true, minor)).add_tokens(event_of(DeltaKind::kReasoning, {}), out);
    return out;
  };
  EXPECT_NE(with(11).find("\"reasoning_content\":"), std::string::npos);
  EXPECT_NE(with(12).find("\"reasoning\":"), std::string::npos);
}

TEST(AppendEscaped, EscapesWhatJsonMust) {
  std::string out;
  append_escaped("a\"\\\n\t\x01\xC3\xA9", out);
  EXPECT_EQ(out, "a\\\"\\\\\\n\\u0009\\u0001\xC3\xA9");
}

}  // namespace
}  // namespace ridgeline::openai
