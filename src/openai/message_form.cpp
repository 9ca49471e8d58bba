#include "openai/message_form.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "openai/answer_form.hpp"
#include "openai/answers.hpp"
#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/stream_events.hpp"

namespace ridgeline::openai {
namespace {

std::string_view stop_reason(const Finish& finish) {
  if (finish.reason == "length") {
    return "max_tokens";
  }
  return finish.reason == "tool_calls" ? "tool_use" : "end_turn";
}

std::string usage_text(const Usage& usage) {
  return fmt::format(
      R"({{"input_tokens":{},"output_tokens":{}}})", usage.prompt_tokens, usage.completion_tokens);
}

void add_event(std::string_view name, std::string_view members, std::string& out) {
  out += fmt::format("event: {0}\ndata: {{\"type\":\"{0}\"{1}}}\n\n", name, members);
}

}  // namespace

void MessageForm::add_start(std::int64_t /*index*/,
                            const Usage& usage,
                            bool /*is_usage_wanted*/,
                            std::string& out) {
  const Usage before{.prompt_tokens = usage.prompt_tokens,
                     .completion_tokens = 0,
                     .cached_tokens = usage.cached_tokens};
  add_event("message_start",
            fmt::format(R"(,"message":{{"id":{},"type":"message","role":"assistant","content":[],)"
                        R"("model":{},"stop_reason":null,"stop_sequence":null,"usage":{}}})",
                        json_quoted(head_.id),
                        json_quoted(head_.model),
                        usage_text(before)),
            out);
}

void MessageForm::begin_block(DeltaKind kind, std::string& out) {
  end_block(out);
  block_ = is_tool(kind) ? DeltaKind::kToolArguments : kind;
  std::string block = R"({"type":"text","text":""})";
  if (is_tool(kind)) {
    block = fmt::format(R"({{"type":"tool_use","id":{},"name":{},"input":{{}}}})",
                        json_quoted(head_.tool_id),
                        json_quoted(head_.tool_name));
  } else if (kind == DeltaKind::kReasoning) {
    block = R"({"type":"thinking","thinking":"","signature":""})";
  }
  add_event(
      "content_block_start", fmt::format(R"(,"content_block":{},"index":{})", block, blocks_), out);
  ++blocks_;
}

void MessageForm::end_block(std::string& out) {
  if (block_) {
    block_.reset();
    add_event("content_block_stop", fmt::format(R"(,"index":{})", blocks_ - 1), out);
  }
}

void MessageForm::add_tokens(const TokenEventText& event, std::string& out) {
  const DeltaKind kind = is_tool(event.kind) ? DeltaKind::kToolArguments : event.kind;
  if (event.text.empty() && !is_tool(kind)) {
    return;
  }
  if (block_ != kind) {
    begin_block(kind, out);
  }
  if (event.kind == DeltaKind::kToolName) {
    return;
  }
  std::string_view type = "text";
  std::string_view key = "text";
  if (kind == DeltaKind::kToolArguments) {
    type = "input_json";
    key = "partial_json";
  } else if (kind == DeltaKind::kReasoning) {
    type = key = "thinking";
  }
  add_event("content_block_delta",
            fmt::format(R"(,"delta":{{"type":"{}_delta","{}":{}}},"index":{})",
                        type,
                        key,
                        json_quoted(event.text),
                        blocks_ - 1),
            out);
}

void MessageForm::add_end(std::span<const Choice> choices,
                          const Usage& usage,
                          bool /*is_usage_wanted*/,
                          std::string& out) {
  end_block(out);
  add_event("message_delta",
            fmt::format(R"(,"delta":{{"stop_reason":"{}"}},"usage":{})",
                        stop_reason(choices.front().finish),
                        usage_text(usage)),
            out);
  add_event("message_stop", "", out);
  out += StreamEvents::kDone;
}

void MessageForm::add_failure(const ApiError& error, std::string& out) {
  add_event("error",
            fmt::format(R"(,"error":{{"type":"internal_error","message":{}}})",
                        json_quoted(error.message)),
            out);
  out += StreamEvents::kDone;
}

std::string MessageForm::whole(std::span<const Choice> choices,
                               const Usage& usage,
                               std::string_view /*kv_transfer_params*/) {
  const Choice& choice = choices.front();
  const bool is_call = !choice.tool_name.empty();
  const bool is_whole = choice.finish.reason != "length" && choice.finish.reason != "abort";
  std::string content;
  if (!choice.reasoning.empty()) {
    content += fmt::format(R"({{"type":"thinking","thinking":{},"signature":""}},)",
                           json_quoted(choice.reasoning));
  }
  content +=
      fmt::format(R"({{"type":"text","text":{}}})", is_call ? R"("")" : json_quoted(choice.text));
  if (is_call) {
    content += fmt::format(R"(,{{"type":"tool_use","id":{},"name":{},"input":{}}})",
                           json_quoted(choice.tool_id),
                           json_quoted(choice.tool_name),
                           is_whole ? std::string_view(choice.text) : "{}");
  }
  return fmt::format(R"({{"id":{},"type":"message","role":"assistant","content":[{}],"model":{},)"
                     R"("stop_reason":"{}","usage":{}}})",
                     json_quoted(head_.id),
                     content,
                     json_quoted(head_.model),
                     stop_reason(choice.finish),
                     usage_text(usage));
}

std::string MessageForm::error(const ApiError& error) const {
  return message_error(error, head_.version);
}

std::string message_error(const ApiError& error, ApiVersion version) {
  if (error.type == "Bad Request") {
    return error_body(error, version);
  }
  return fmt::format(R"({{"type":"error","error":{{"type":{},"message":{}}}}})",
                     json_quoted(error.type),
                     json_quoted(error.message));
}

}  // namespace ridgeline::openai
