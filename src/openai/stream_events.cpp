#include "openai/stream_events.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/json_writer.hpp"
#include "openai/api.hpp"
#include "openai/api_version.hpp"

namespace ridgeline::openai {
namespace {

std::string json_text(std::string_view text) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.value(text);
  return json.text();
}

void append_number(std::int64_t number, std::string& out) {
  const fmt::format_int digits(number);
  out.append(digits.data(), digits.size());
}

void append_finish(const std::optional<Finish>& finish, std::string& out) {
  out += R"("finish_reason":")";
  out += finish->reason;
  out += R"(","stop_reason":)";
  out += finish->stop ? json_text(*finish->stop) : "null";
}

}  // namespace

std::string usage_json(const Usage& usage) {
  std::string text = fmt::format(R"({{"prompt_tokens":{},"total_tokens":{},"completion_tokens":{})",
                                 usage.prompt_tokens,
                                 usage.prompt_tokens + usage.completion_tokens,
                                 usage.completion_tokens);
  if (usage.cached_tokens) {
    text += fmt::format(R"(,"prompt_tokens_details":{{"cached_tokens":{}}})", *usage.cached_tokens);
  }
  return text + "}";
}

void append_escaped(std::string_view text, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20) {
      out += "\\u00";
      out += kHex[byte >> 4U];
      out += kHex[byte & 0xFU];
    } else {
      out += c;
    }
  }
}

StreamEvents::StreamEvents(const StreamHead& head)
    : is_chat_(head.api != Api::kCompletions),
      has_token_ids_(head.version >= kTokenIdsInChoices),
      has_prompt_text_(head.version >= kPromptText),
      has_fingerprint_(head.version >= kFingerprintAtEnd && !head.has_usage_at_end),
      reasoning_key_(head.version >= kReasoningRenamed ? "reasoning" : "reasoning_content"),
      head_(fmt::format(R"(data: {{"id":{},"object":"{}","created":{},"model":{},"choices":[)",
                        json_text(head.id),
                        head.api == Api::kChat ? "chat.completion.chunk" : "text_completion",
                        head.created,
                        json_text(head.model))),
      prompt_token_ids_(head.prompt_token_ids) {
  if (!head.tool_name.empty()) {
    tool_head_ = fmt::format(R"("id":{},"type":"function","index":0,"function":{{"name":{},)",
                             json_text(head.tool_id),
                             json_text(head.tool_name));
  }
}

void StreamEvents::begin(std::string& out) const {
  out += head_;
}

void StreamEvents::end(const Usage* usage, std::string_view more, std::string& out) {
  out += "}]";
  out += more;
  if (usage != nullptr) {
    out += R"(,"usage":)";
    out += usage_json(*usage);
  }
  out += "}\n\n";
}

void StreamEvents::add_role(std::int64_t index, const Usage* usage, std::string& out) const {
  begin(out);
  out += R"({"index":)";
  append_number(index, out);
  out += R"(,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null)";
  std::string more;
  if (has_token_ids_) {
    more = R"(,"prompt_token_ids":)" + prompt_token_ids_;
  }
  if (has_prompt_text_) {
    more += R"(,"prompt_text":null)";
  }
  // pydantic writes the keys of a model in the model's order: usage comes before the others.
  out += "}]";
  if (usage != nullptr) {
    out += R"(,"usage":)";
    out += usage_json(*usage);
  }
  out += more;
  out += "}\n\n";
}

void StreamEvents::add_tokens(const TokenEventText& event, std::string& out) const {
  const bool ends = event.finish != nullptr && event.finish->has_value();
  begin(out);
  out += R"({"index":)";
  append_number(event.index, out);
  if (is_chat_) {
    out += R"(,"delta":{)";
    if (event.kind == DeltaKind::kToolName) {
      out += R"("tool_calls":[{)";
      out += tool_head_;
      out += R"("arguments":""}}])";
    } else if (event.kind == DeltaKind::kToolArguments) {
      out += R"("tool_calls":[{"index":0,"function":{"arguments":")";
      append_escaped(event.text, out);
      out += R"("}}])";
    } else {
      out += '"';
      out += event.kind == DeltaKind::kReasoning ? reasoning_key_ : "content";
      out += R"(":")";
      append_escaped(event.text, out);
      out += '"';
    }
    out += R"(},"logprobs":)";
  } else {
    out += R"(,"text":")";
    append_escaped(event.text, out);
    out += R"(","logprobs":)";
  }
  out += event.logprobs;
  out += ',';
  if (ends) {
    append_finish(*event.finish, out);
  } else {
    out += is_chat_ ? R"("finish_reason":null)" : R"("finish_reason":null,"stop_reason":null)";
  }
  if (has_token_ids_) {
    if (!is_chat_) {
      out += R"(,"prompt_token_ids":)";
      out += event.prompt_token_ids;
    }
    out += R"(,"token_ids":)";
    out += event.token_ids;
  }
  const bool has_fingerprint = ends && is_chat_ && has_fingerprint_;
  end(event.usage, has_fingerprint ? R"(,"system_fingerprint":null)" : "", out);
}

void StreamEvents::add_usage(const Usage& usage, std::string& out) const {
  begin(out);
  out += R"(],"usage":)";
  out += usage_json(usage);
  out += "}\n\n";
}

}  // namespace ridgeline::openai
