#include "openai/response_form.hpp"

#include <cstddef>
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

std::string usage_text(const Usage& usage, std::int64_t reasoning_tokens, ApiVersion version) {
  const bool is_new = version >= kResponseTurns;
  return fmt::format(
      R"({{"input_tokens":{},"input_tokens_details":{{"cached_tokens":{}{}}},"output_tokens":{},)"
      R"("output_tokens_details":{{"reasoning_tokens":{}{}}},"total_tokens":{}}})",
      usage.prompt_tokens,
      usage.cached_tokens.value_or(0),
      is_new ? R"(,"input_tokens_per_turn":[],"cached_tokens_per_turn":[])" : "",
      usage.completion_tokens,
      reasoning_tokens,
      is_new ? R"(,"tool_output_tokens":0,"output_tokens_per_turn":[],)"
               R"("tool_output_tokens_per_turn":[])"
             : "",
      usage.prompt_tokens + usage.completion_tokens);
}

std::string text_part(std::string_view text, std::string_view logprobs) {
  return fmt::format(R"({{"annotations":[],"text":{},"type":"output_text","logprobs":{}}})",
                     json_quoted(text),
                     logprobs);
}

}  // namespace

/// Items of one answer differ by their kind.
std::string ResponseForm::item_id(DeltaKind kind) const {
  const std::string_view prefix = is_tool(kind)                   ? "fc_"
                                  : kind == DeltaKind::kReasoning ? "rs_"
                                                                  : "msg_";
  const std::size_t line = head_.id.find('_');
  return std::string(prefix) + head_.id.substr(line == std::string::npos ? 0 : line + 1);
}

std::string_view ResponseForm::echo(std::string_view key, std::string_view usual) const {
  const auto found = head_.echoed.find(key);
  return found == head_.echoed.end() ? usual : std::string_view(found->second);
}

std::string ResponseForm::item(DeltaKind kind, std::string_view text, bool is_done) const {
  const std::string_view status = is_done ? "completed" : "in_progress";
  const std::string id = json_quoted(item_id(kind));
  if (is_tool(kind)) {
    return fmt::format(
        R"({{"arguments":{},"call_id":{},"name":{},"type":"function_call","id":{},"status":"{}"}})",
        json_quoted(text),
        json_quoted(head_.tool_id),
        json_quoted(head_.tool_name),
        id,
        status);
  }
  if (kind == DeltaKind::kReasoning) {
    return fmt::format(
        R"({{"id":{},"summary":[],"type":"reasoning","content":{},"encrypted_content":null,)"
        R"("status":{}}})",
        id,
        is_done ? fmt::format(R"([{{"text":{},"type":"reasoning_text"}}])", json_quoted(text))
                : "null",
        is_done ? "null" : R"("in_progress")");
  }
  return fmt::format(R"({{"id":{},"content":[{}],"role":"assistant","status":"{}",)"
                     R"("type":"message"}})",
                     id,
                     is_done ? text_part(text, "null") : std::string(),
                     status);
}

std::string ResponseForm::object(std::string_view status,
                                 std::string_view output,
                                 const Finish* finish,
                                 const Usage* usage,
                                 std::int64_t reasoning_tokens) const {
  const bool is_cut = finish != nullptr && finish->reason == "length";
  std::string text = fmt::format(
      R"({{"id":{},"created_at":{},"incomplete_details":{},"instructions":{},"metadata":{},)"
      R"("model":{},"object":"response","output":[{}],"parallel_tool_calls":{},"temperature":{},)"
      R"("tool_choice":{},"tools":{},"top_p":{},"background":{},"max_output_tokens":{},)",
      json_quoted(head_.id),
      head_.created,
      is_cut ? R"({"reason":"max_output_tokens"})" : "null",
      echo("instructions", "null"),
      echo("metadata", "null"),
      json_quoted(head_.model),
      output,
      echo("parallel_tool_calls", "true"),
      echo("temperature", "1.0"),
      echo("tool_choice", R"("auto")"),
      echo("tools", "[]"),
      echo("top_p", "1.0"),
      echo("background", "false"),
      head_.most_tokens);
  text += fmt::format(
      R"("max_tool_calls":{},"previous_response_id":{},"prompt":null,"reasoning":{},)"
      R"("service_tier":{},"status":"{}","text":{},"top_logprobs":{},"truncation":{},"usage":{},)"
      R"("user":{})",
      echo("max_tool_calls", "null"),
      echo("previous_response_id", "null"),
      echo("reasoning", "null"),
      echo("service_tier", R"("auto")"),
      is_cut ? "incomplete" : status,
      echo("text", "null"),
      echo("top_logprobs", "null"),
      echo("truncation", R"("disabled")"),
      usage == nullptr ? "null" : usage_text(*usage, reasoning_tokens, head_.version),
      echo("user", "null"));
  if (head_.version >= kResponseTurns) {
    text += R"(,"input_messages":null,"output_messages":null)";
  }
  return text + "}";
}

/// `before` and `after` are the members around the event's number, in the order of OpenAI's types.
void ResponseForm::add_event(std::string_view type,
                             std::string_view before,
                             std::string_view after,
                             std::string& out) {
  out += fmt::format("event: {0}\ndata: {{{1},\"sequence_number\":{2},{3}\"type\":\"{0}\"}}\n\n",
                     type,
                     before,
                     events_,
                     after);
  ++events_;
}

void ResponseForm::add_start(std::int64_t /*index*/,
                             const Usage& /*usage*/,
                             bool /*is_usage_wanted*/,
                             std::string& out) {
  const std::string response = R"("response":)" + object("in_progress", "", nullptr, nullptr, 0);
  add_event("response.created", response, "", out);
  add_event("response.in_progress", response, "", out);
}

void ResponseForm::begin_item(DeltaKind kind, std::string& out) {
  item_ = kind;
  add_event("response.output_item.added",
            fmt::format(R"("item":{},"output_index":{})", item(kind, "", false), items_),
            "",
            out);
  ++items_;
  const std::string at = fmt::format(R"("content_index":0,"item_id":{},"output_index":{})",
                                     json_quoted(item_id(kind)),
                                     items_ - 1);
  if (kind == DeltaKind::kReasoning) {
    add_event("response.reasoning_part.added",
              at + R"(,"part":{"text":"","type":"reasoning_text"})",
              "",
              out);
  } else if (kind == DeltaKind::kContent) {
    add_event("response.content_part.added", at + R"(,"part":)" + text_part("", "[]"), "", out);
  }
}

void ResponseForm::end_item(std::string_view text, std::string& out) {
  const DeltaKind kind = *item_;
  item_.reset();
  const std::string id =
      fmt::format(R"("item_id":{},"output_index":{})", json_quoted(item_id(kind)), items_ - 1);
  const std::string value = json_quoted(text);
  if (kind == DeltaKind::kToolArguments) {
    add_event("response.function_call_arguments.done",
              fmt::format(R"("arguments":{},"item_id":{},"name":{},"output_index":{})",
                          value,
                          json_quoted(item_id(kind)),
                          json_quoted(head_.tool_name),
                          items_ - 1),
              "",
              out);
  } else if (kind == DeltaKind::kReasoning) {
    add_event("response.reasoning_text.done",
              R"("content_index":0,)" + id,
              fmt::format(R"("text":{},)", value),
              out);
    add_event(
        "response.reasoning_part.done",
        fmt::format(
            R"("content_index":0,{},"part":{{"text":{},"type":"reasoning_text"}})", id, value),
        "",
        out);
  } else {
    add_event("response.output_text.done",
              fmt::format(R"("content_index":0,"item_id":{},"logprobs":[],"output_index":{})",
                          json_quoted(item_id(kind)),
                          items_ - 1),
              fmt::format(R"("text":{},)", value),
              out);
    add_event("response.content_part.done",
              fmt::format(R"("content_index":0,{},"part":{})", id, text_part(text, "null")),
              "",
              out);
  }
  add_event("response.output_item.done",
            fmt::format(R"("item":{},"output_index":{})", item(kind, text, true), items_ - 1),
            "",
            out);
}

void ResponseForm::add_tokens(const TokenEventText& event, std::string& out) {
  const DeltaKind kind = is_tool(event.kind) ? DeltaKind::kToolArguments : event.kind;
  if (event.text.empty() && !is_tool(kind)) {
    return;
  }
  if (item_ != kind) {
    if (item_) {
      // Reasoning ends where the message begins: its text is all that came before.
      end_item(event.answer->text(event.first), out);
    }
    begin_item(kind, out);
  }
  if (event.kind == DeltaKind::kToolName) {
    return;
  }
  const std::string id = json_quoted(item_id(kind));
  if (kind == DeltaKind::kToolArguments) {
    add_event("response.function_call_arguments.delta",
              fmt::format(R"("delta":{},"item_id":{},"output_index":{})",
                          json_quoted(event.text),
                          id,
                          items_ - 1),
              "",
              out);
  } else if (kind == DeltaKind::kReasoning) {
    add_event("response.reasoning_text.delta",
              fmt::format(R"("content_index":0,"delta":{},"item_id":{},"output_index":{})",
                          json_quoted(event.text),
                          id,
                          items_ - 1),
              "",
              out);
  } else {
    add_event(
        "response.output_text.delta",
        fmt::format(R"("content_index":0,"delta":{},"item_id":{},"logprobs":[],"output_index":{})",
                    json_quoted(event.text),
                    id,
                    items_ - 1),
        "",
        out);
  }
}

void ResponseForm::add_end(std::span<const Choice> choices,
                           const Usage& usage,
                           bool /*is_usage_wanted*/,
                           std::string& out) {
  const Choice& choice = choices.front();
  if (item_) {
    end_item(*item_ == DeltaKind::kReasoning ? choice.reasoning : choice.text, out);
  }
  const std::string response = whole(choices, usage, "null");
  add_event("response.completed", R"("response":)" + response, "", out);
}

void ResponseForm::add_failure(const ApiError& error, std::string& out) {
  add_event(
      "error",
      fmt::format(
          R"("code":"{}","message":{},"param":null)", error.status, json_quoted(error.message)),
      "",
      out);
}

std::string ResponseForm::without_answer(std::string_view status) const {
  return object(status, "", nullptr, nullptr, 0);
}

std::string ResponseForm::whole(std::span<const Choice> choices,
                                const Usage& usage,
                                std::string_view /*kv_transfer_params*/) {
  const Choice& choice = choices.front();
  std::string output;
  if (!choice.reasoning.empty()) {
    output += item(DeltaKind::kReasoning, choice.reasoning, true);
  }
  if (!choice.tool_name.empty()) {
    output += item(DeltaKind::kToolArguments, choice.text, true);
  } else if (!choice.text.empty() || output.empty()) {
    output += (output.empty() ? "" : ",") + item(DeltaKind::kContent, choice.text, true);
  }
  return object("completed", output, &choice.finish, &usage, choice.reasoning_tokens);
}

std::string ResponseForm::error(const ApiError& error) const {
  return error_body(error, head_.version);
}

}  // namespace ridgeline::openai
