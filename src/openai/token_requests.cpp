#include "openai/token_requests.hpp"

#include <string_view>
#include <utility>

#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/body.hpp"
#include "openai/request.hpp"

namespace ridgeline::openai {

ApiResult<TokenizeRequest> parse_tokenize(std::string_view text) {
  const auto body = Body::parse(text);
  if (!body) {
    return tl::unexpected(body.error());
  }
  TokenizeRequest request;
  BodyReader reader;
  bool has_messages = false;
  for (const auto member : body->object()) {
    const std::string_view key = member.key;
    if (key == "model") {
      reader.text(key, member.value, request.model);
    } else if (key == "prompt") {
      reader.text(key, member.value, request.prompt);
    } else if (key == "add_special_tokens") {
      reader.boolean(key, member.value, request.add_special_tokens);
    } else if (key == "return_token_strs") {
      reader.boolean(key, member.value, request.return_token_strings);
    } else if (key == "messages") {
      has_messages = true;
    }
  }
  if (has_messages) {
    // The rest of such a body is that of a chat.
    auto chat = parse_chat(text, ApiVersion::newest());
    if (!chat) {
      return tl::unexpected(chat.error());
    }
    request.messages = std::move(chat->messages);
    request.add_generation_prompt = chat->add_generation_prompt;
  } else if (reader.is_sound() && !request.prompt) {
    reader.fail(bad_request("prompt: Field required", "body.prompt"));
  }
  return reader.is_sound() ? ApiResult<TokenizeRequest>(std::move(request))
                           : tl::unexpected(*reader.error());
}

ApiResult<DetokenizeRequest> parse_detokenize(std::string_view text) {
  const auto body = Body::parse(text);
  if (!body) {
    return tl::unexpected(body.error());
  }
  DetokenizeRequest request;
  BodyReader reader;
  bool has_tokens = false;
  for (const auto member : body->object()) {
    if (member.key == "model") {
      reader.text("model", member.value, request.model);
    } else if (member.key == "tokens") {
      has_tokens = true;
      reader.integers("tokens", member.value, request.tokens);
    }
  }
  if (reader.is_sound() && !has_tokens) {
    reader.fail(bad_request("tokens: Field required", "body.tokens"));
  }
  return reader.is_sound() ? ApiResult<DetokenizeRequest>(std::move(request))
                           : tl::unexpected(*reader.error());
}

ApiResult<AdapterRequest> parse_adapter(std::string_view text) {
  const auto body = Body::parse(text);
  if (!body) {
    return tl::unexpected(body.error());
  }
  AdapterRequest request;
  BodyReader reader;
  for (const auto member : body->object()) {
    if (member.key == "lora_name") {
      reader.text("lora_name", member.value, request.name);
    } else if (member.key == "lora_path") {
      reader.text("lora_path", member.value, request.path);
    }
  }
  return reader.is_sound() ? ApiResult<AdapterRequest>(std::move(request))
                           : tl::unexpected(*reader.error());
}

}  // namespace ridgeline::openai
