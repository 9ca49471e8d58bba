#include "openai/other_requests.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "openai/answer_form.hpp"
#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/body.hpp"
#include "openai/request.hpp"

namespace ridgeline::openai {
namespace {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;
using Array = simdjson::dom::array;

std::string json_of(Element element) {
  return simdjson::minify(element);
}

/// A member of an object as JSON; `usual` where it is absent.
std::string member_of(Element object, std::string_view key, std::string_view usual = "null") {
  Element value;
  return object[key].get(value) == simdjson::SUCCESS ? json_of(value) : std::string(usual);
}

std::string_view text_of(Element object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

/// Members and items, written one after the other.
class Chat {
 public:
  void add(std::string_view key, std::string_view json) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "" : ",", key, json);
  }
  void add_message(std::string_view role, std::string_view content, std::string_view more = "") {
    messages_ += fmt::format(R"({}{{"role":{},"content":{}{}}})",
                             messages_.empty() ? "" : ",",
                             json_quoted(role),
                             content,
                             more);
  }
  void add_call(std::string_view id, std::string_view name, std::string_view arguments) {
    add_message("assistant",
                "null",
                fmt::format(R"(,"tool_calls":[{{"id":{},"type":"function","function":{{"name":{},)"
                            R"("arguments":{}}}}}])",
                            json_quoted(id),
                            json_quoted(name),
                            arguments));
  }
  void add_tool(std::string_view name, std::string_view description, std::string_view parameters) {
    tools_ += fmt::format(R"({}{{"type":"function","function":{{"name":{},"description":{},)"
                          R"("parameters":{}}}}})",
                          tools_.empty() ? "" : ",",
                          name,
                          description,
                          parameters);
  }
  /// Its body.
  [[nodiscard]] std::string text() {
    if (!tools_.empty()) {
      add("tools", "[" + tools_ + "]");
    }
    add("messages", "[" + messages_ + "]");
    return "{" + text_ + "}";
  }

 private:
  std::string text_;
  std::string messages_;
  std::string tools_;
};

ApiResult<GenerationRequest> parse_as(Api api,
                                      Chat& chat,
                                      ApiVersion version,
                                      const RequestLimits& limits) {
  auto request = parse_chat(chat.text(), version, limits);
  if (request) {
    request->api = api;
  }
  return request;
}

template <class Keys>
bool is_one_of(const Keys& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

/// Reads the body of a response.
class ResponseReader {
 public:
  ApiResult<ResponseOptions> read(Object body, Chat& chat) {
    Element value;
    if (body["instructions"].get(value) == simdjson::SUCCESS && !is_null(value)) {
      std::string text;
      reader_.text("instructions", value, text);
      options_.has_instructions = !text.empty();
      if (options_.has_instructions) {
        chat.add_message("system", json_quoted(text));
      }
    }
    for (const auto member : body) {
      read_member(member.key, member.value, chat);
    }
    if (reader_.is_sound() && !has_input_) {
      reader_.fail(bad_request("input: Field required", "body.input"));
    }
    if (reader_.is_sound() && options_.is_background && !options_.is_stored) {
      reader_.fail(bad_request("Value error, background can only be used when `store` is true"));
    }
    if (!reader_.is_sound()) {
      return tl::unexpected(*reader_.error());
    }
    return std::move(options_);
  }

 private:
  void read_member(std::string_view key, Element value, Chat& chat) {
    static constexpr std::array<std::string_view, 10> kSame = {"model",
                                                               "stream",
                                                               "temperature",
                                                               "top_p",
                                                               "priority",
                                                               "cache_salt",
                                                               "request_id",
                                                               "vllm_xargs",
                                                               "frequency_penalty",
                                                               "presence_penalty"};
    std::string_view text;
    if (key == "input") {
      has_input_ = true;
      read_input(value, chat);
    } else if (key == "max_output_tokens") {
      chat.add("max_tokens", json_of(value));
    } else if (key == "tools" && !is_null(value)) {
      read_tools(value, chat);
    } else if (key == "tool_choice" && !is_null(value)) {
      const bool is_named = value.is_object() && value["name"].get(text) == simdjson::SUCCESS;
      chat.add(key,
               is_named ? fmt::format(R"({{"type":"function","function":{{"name":{}}}}})",
                                      json_quoted(text))
                        : json_of(value));
    } else if (key == "text" && value.is_object()) {
      read_format(value, chat);
    } else if (key == "previous_response_id") {
      reader_.text(key, value, options_.previous);
    } else if (key == "background") {
      reader_.boolean(key, value, options_.is_background);
    } else if (key == "store") {
      reader_.boolean(key, value, options_.is_stored);
    } else if (key == "prompt" && !is_null(value)) {
      reader_.fail(bad_request("Value error, prompt template is not supported", "prompt"));
    } else if (is_one_of(kSame, key)) {
      chat.add(key, json_of(value));
    }
  }

  void read_input(Element value, Chat& chat) {
    std::string_view text;
    Array list;
    if (value.get(text) == simdjson::SUCCESS) {
      chat.add_message("user", json_quoted(text));
      return;
    }
    if (value.get(list) != simdjson::SUCCESS) {
      reader_.fail("input", "a valid string, or a list of items");
      return;
    }
    for (const Element item : list) {
      if (!item.is_object()) {
        reader_.fail("input", "a list of objects");
        return;
      }
      const std::string_view type = text_of(item, "type");
      if (type == "function_call") {
        chat.add_call(
            text_of(item, "call_id"), text_of(item, "name"), member_of(item, "arguments"));
      } else if (type == "function_call_output") {
        chat.add_message("tool", member_of(item, "output"));
      } else if (type == "reasoning") {
        chat.add_message("assistant", member_of(item, "content"));
      } else if (type.empty() || type == "message") {
        const std::string_view role = text_of(item, "role");
        chat.add_message(role, member_of(item, "content"));
      } else {
        reader_.fail("input", "items that are messages, function calls or their outputs");
        return;
      }
    }
  }

  void read_tools(Element value, Chat& chat) {
    Array list;
    if (value.get(list) != simdjson::SUCCESS) {
      reader_.fail("tools", "a valid list");
      return;
    }
    for (const Element tool : list) {
      // Tools of OpenAI's own servers (web search) are passed over, as in vLLM.
      if (tool.is_object() && text_of(tool, "type") == "function") {
        chat.add_tool(member_of(tool, "name"),
                      member_of(tool, "description"),
                      member_of(tool, "parameters", "{}"));
      }
    }
  }

  void read_format(Element value, Chat& chat) {
    Element format;
    if (value["format"].get(format) != simdjson::SUCCESS || !format.is_object()) {
      return;
    }
    const std::string_view type = text_of(format, "type");
    if (type == "json_schema") {
      chat.add("response_format",
               fmt::format(R"({{"type":"json_schema","json_schema":{{"schema":{}}}}})",
                           member_of(format, "schema")));
    } else {
      chat.add("response_format", json_of(format));
    }
  }

  BodyReader reader_;
  bool has_input_ = false;
  ResponseOptions options_;
};

/// Reads the body of one of Anthropic's messages.
class MessageReader {
 public:
  explicit MessageReader(bool needs_limit) : has_limit_(!needs_limit) {}

  ApiResult<void> read(Object body, Chat& chat) {
    Element value;
    if (body["system"].get(value) == simdjson::SUCCESS && !is_null(value)) {
      chat.add_message("system", value.is_string() ? json_of(value) : text_blocks(value));
    }
    for (const auto member : body) {
      read_member(member.key, member.value, chat);
    }
    for (const auto& [has_it, key] : {std::pair(has_model_, "model"),
                                      std::pair(has_messages_, "messages"),
                                      std::pair(has_limit_, "max_tokens")}) {
      if (reader_.is_sound() && !has_it) {
        reader_.fail(
            bad_request(fmt::format("{}: Field required", key), fmt::format("body.{}", key)));
      }
    }
    return reader_.is_sound() ? ApiResult<void>() : tl::unexpected(*reader_.error());
  }

 private:
  void read_member(std::string_view key, Element value, Chat& chat) {
    static constexpr std::array<std::string_view, 6> kSame = {
        "model", "stream", "temperature", "top_p", "vllm_xargs", "kv_transfer_params"};
    if (key == "model") {
      has_model_ = !is_null(value);
    }
    if (key == "messages") {
      has_messages_ = true;
      read_messages(value, chat);
    } else if (key == "max_tokens") {
      std::int64_t most = 0;
      has_limit_ = true;
      reader_.integer(key, value, most);
      if (reader_.is_sound() && most <= 0) {
        reader_.fail(bad_request("Value error, max_tokens must be positive", "body.max_tokens"));
      }
      chat.add(key, json_of(value));
    } else if (key == "stop_sequences" && !is_null(value)) {
      chat.add("stop", json_of(value));
    } else if (key == "tools" && !is_null(value)) {
      read_tools(value, chat);
    } else if (key == "tool_choice" && value.is_object()) {
      const std::string_view type = text_of(value, "type");
      chat.add(key,
               type == "tool"  ? fmt::format(R"({{"type":"function","function":{{"name":{}}}}})",
                                            member_of(value, "name"))
               : type == "any" ? R"("required")"
                               : json_quoted(type));
    } else if (is_one_of(kSame, key)) {
      chat.add(key, json_of(value));
    }
  }

  void read_messages(Element value, Chat& chat) {
    Array list;
    if (value.get(list) != simdjson::SUCCESS) {
      reader_.fail("messages", "a valid list");
      return;
    }
    for (const Element message : list) {
      const std::string_view role =
          message.is_object() ? text_of(message, "role") : std::string_view();
      Element content;
      if ((role != "user" && role != "assistant") ||
          message["content"].get(content) != simdjson::SUCCESS) {
        reader_.fail("messages", "objects with the role 'user' or 'assistant' and a content");
        return;
      }
      read_content(role, content, chat);
    }
  }

  /// What tools gave are messages of their own, before the text beside them.
  void read_content(std::string_view role, Element content, Chat& chat) {
    Array blocks;
    if (content.get(blocks) != simdjson::SUCCESS) {
      chat.add_message(role, json_of(content));
      return;
    }
    std::string parts;
    for (const Element block : blocks) {
      const std::string_view type = block.is_object() ? text_of(block, "type") : "";
      if (type == "tool_use") {
        chat.add_call(text_of(block, "id"),
                      text_of(block, "name"),
                      json_quoted(member_of(block, "input", "{}")));
      } else if (type == "tool_result") {
        chat.add_message("tool", member_of(block, "content", R"("")"));
      } else if (type == "image") {
        parts += fmt::format(R"({}{{"type":"image_url"}})", parts.empty() ? "" : ",");
      } else if (type == "text" || type == "thinking") {
        parts += fmt::format(R"({}{{"type":"text","text":{}}})",
                             parts.empty() ? "" : ",",
                             member_of(block, type, R"("")"));
      } else {
        reader_.fail("messages", "blocks of text, images, tool calls and their results");
        return;
      }
    }
    if (!parts.empty()) {
      chat.add_message(role, "[" + parts + "]");
    }
  }

  std::string text_blocks(Element value) {
    Array list;
    std::string text;
    if (value.get(list) != simdjson::SUCCESS) {
      reader_.fail("system", "a valid string, or a list of blocks of text");
      return "null";
    }
    for (const Element block : list) {
      text += block.is_object() ? text_of(block, "text") : std::string_view();
    }
    return json_quoted(text);
  }

  void read_tools(Element value, Chat& chat) {
    Array list;
    if (value.get(list) != simdjson::SUCCESS) {
      reader_.fail("tools", "a valid list");
      return;
    }
    for (const Element tool : list) {
      Element schema;
      if (!tool.is_object() || tool["input_schema"].get(schema) != simdjson::SUCCESS) {
        reader_.fail("tools", "a list of objects with a name and an input_schema");
        return;
      }
      chat.add_tool(member_of(tool, "name"), member_of(tool, "description"), json_of(schema));
    }
  }

  BodyReader reader_;
  bool has_model_ = false;
  bool has_messages_ = false;
  bool has_limit_;
};

/// Takes the keys that a response repeats, where its client gave them.
void take_echo(Object body, GenerationRequest& request) {
  static constexpr std::array<std::string_view, 16> kKeys = {"background",
                                                             "instructions",
                                                             "metadata",
                                                             "parallel_tool_calls",
                                                             "temperature",
                                                             "tool_choice",
                                                             "tools",
                                                             "top_p",
                                                             "max_tool_calls",
                                                             "previous_response_id",
                                                             "reasoning",
                                                             "service_tier",
                                                             "text",
                                                             "top_logprobs",
                                                             "truncation",
                                                             "user"};
  for (const auto member : body) {
    if (is_one_of(kKeys, member.key) && !is_null(member.value)) {
      request.echoed.insert_or_assign(std::string(member.key), json_of(member.value));
    }
  }
}

}  // namespace

ApiResult<GenerationRequest> parse_response(std::string_view text,
                                            ApiVersion version,
                                            const RequestLimits& limits) {
  const auto body = Body::parse(text);
  if (!body) {
    return tl::unexpected(body.error());
  }
  Chat chat;
  auto options = ResponseReader().read(body->object(), chat);
  if (!options) {
    return tl::unexpected(options.error());
  }
  auto request = parse_as(Api::kResponses, chat, version, limits);
  if (request) {
    request->response = std::move(*options);
    take_echo(body->object(), *request);
  }
  return request;
}

namespace {

ApiResult<GenerationRequest> read_message(std::string_view text,
                                          bool needs_limit,
                                          ApiVersion version,
                                          const RequestLimits& limits) {
  const auto body = Body::parse(text);
  if (!body) {
    return tl::unexpected(body.error());
  }
  Chat chat;
  if (const auto done = MessageReader(needs_limit).read(body->object(), chat); !done) {
    return tl::unexpected(done.error());
  }
  return parse_as(Api::kMessages, chat, version, limits);
}

}  // namespace

ApiResult<GenerationRequest> parse_message(std::string_view text,
                                           ApiVersion version,
                                           const RequestLimits& limits) {
  return read_message(text, true, version, limits);
}

ApiResult<GenerationRequest> parse_message_to_count(std::string_view text, ApiVersion version) {
  return read_message(text, false, version, {});
}

}  // namespace ridgeline::openai
