#include "openai/api_error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "document/json_writer.hpp"
#include "openai/api_version.hpp"

namespace ridgeline::openai {
namespace {

/// A text up to kLongestMessage bytes, and no character in two.
std::string_view cut(std::string_view text) {
  if (text.size() <= kLongestMessage) {
    return text;
  }
  std::size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

void write_members(document::JsonWriter& json, const ApiError& error) {
  json.member("message", cut(error.message)).member("type", std::string_view(error.type));
  json.key("param");
  if (error.param) {
    json.value(cut(*error.param));
  } else {
    json.null();
  }
  json.member("code", error.status);
}

}  // namespace

ApiError bad_request(std::string message, std::optional<std::string> param) {
  return {.status = 400,
          .type = "Bad Request",
          .message = std::move(message),
          .param = std::move(param)};
}

ApiError refused(std::string message, std::optional<std::string> param) {
  return {.status = 400,
          .type = "BadRequestError",
          .message = std::move(message),
          .param = std::move(param)};
}

ApiError not_found(std::string message, std::optional<std::string> param) {
  return {.status = 404,
          .type = "NotFoundError",
          .message = std::move(message),
          .param = std::move(param)};
}

ApiError invalid_response_request(std::string message, std::string param, ApiVersion version) {
  return {.status = 400,
          .type = "invalid_request_error",
          .message = std::move(message),
          .param = version >= kErrorParams ? std::optional(std::move(param)) : std::nullopt};
}

ApiError out_of_memory() {
  return {.status = 503,
          .type = "Service Unavailable",
          .message = "This server is out of memory: the request was not taken.",
          .param = std::nullopt};
}

ApiError dead_engine() {
  return {.status = 500,
          .type = "InternalServerError",
          .message = "EngineCore encountered an issue. See stack trace (above) for the root cause.",
          .param = std::nullopt};
}

std::string error_body(const ApiError& error, ApiVersion version) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.begin_object();
  if (version >= kNestedErrors) {
    json.key("error").begin_object();
    write_members(json, error);
    json.end_object();
  } else {
    json.member("object", "error");
    write_members(json, error);
  }
  json.end_object();
  return json.text();
}

std::string error_event(const ApiError& error, ApiVersion version) {
  if (version >= kNestedErrors) {
    return error_body(error, version);
  }
  return R"({"error":)" + error_body(error, version) + "}";
}

}  // namespace ridgeline::openai
