#include "openai/token_requests.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/body.hpp"
#include "openai/request.hpp"

namespace ridgeline::openai {

namespace {

/// A body, each of whose members `read` puts into the request.
template <class Request, class Read>
ApiResult<Request> read_members(std::string_view text, Read read) {
  const auto body = Body::parse(text);
  if (!body) {
    return tl::unexpected(body.error());
  }
  Request request;
  BodyReader reader;
  for (const auto member : body->object()) {
    read(std::string_view(member.key), member.value, request, reader);
  }
  return reader.is_sound() ? ApiResult<Request>(std::move(request))
                           : tl::unexpected(*reader.error());
}

}  // namespace

ApiResult<TokenizeRequest> parse_tokenize(std::string_view text) {
  bool has_messages = false;
  const auto read = [&](std::string_view key, auto value, auto& request, BodyReader& reader) {
    if (key == "model") {
      reader.text(key, value, request.model);
    } else if (key == "prompt") {
      reader.text(key, value, request.prompt);
    } else if (key == "add_special_tokens") {
      reader.boolean(key, value, request.add_special_tokens);
    } else if (key == "return_token_strs") {
      reader.boolean(key, value, request.return_token_strings);
    } else if (key == "messages") {
      has_messages = true;
    }
  };
  auto request = read_members<TokenizeRequest>(text, read);
  if (request && has_messages) {
    // The rest of such a body is that of a chat.
    auto chat = parse_chat(text, ApiVersion::newest());
    if (!chat) {
      return tl::unexpected(chat.error());
    }
    request->messages = std::move(chat->messages);
    request->add_generation_prompt = chat->add_generation_prompt;
  } else if (request && !request->prompt) {
    return tl::unexpected(bad_request("prompt: Field required", "body.prompt"));
  }
  return request;
}

ApiResult<DetokenizeRequest> parse_detokenize(std::string_view text) {
  bool has_tokens = false;
  const auto read = [&](std::string_view key, auto value, auto& request, BodyReader& reader) {
    if (key == "model") {
      reader.text(key, value, request.model);
    } else if (key == "tokens") {
      has_tokens = true;
      reader.integers(key, value, request.tokens);
    }
  };
  auto request = read_members<DetokenizeRequest>(text, read);
  if (request && !has_tokens) {
    return tl::unexpected(bad_request("tokens: Field required", "body.tokens"));
  }
  return request;
}

ApiResult<AdapterRequest> parse_adapter(std::string_view text) {
  const auto read = [](std::string_view key, auto value, auto& request, BodyReader& reader) {
    if (key == "lora_name") {
      reader.text(key, value, request.name);
    } else if (key == "lora_path") {
      reader.text(key, value, request.path);
    }
  };
  return read_members<AdapterRequest>(text, read);
}

ApiResult<std::string> parse_worker_call(std::string_view text) {
  auto method = read_members<std::string>(
      text, [](std::string_view key, auto value, std::string& name, BodyReader& reader) {
        if (key == "method") {
          reader.text(key, value, name);
        }
      });
  if (method && method->empty()) {
    return tl::unexpected(bad_request("Missing 'method' in request body"));
  }
  return method;
}

}  // namespace ridgeline::openai
