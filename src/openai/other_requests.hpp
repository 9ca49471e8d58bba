#pragma once

#include <string_view>

#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/request.hpp"

namespace ridgeline::openai {

/// The bodies of /v1/responses and /v1/messages, read as the chats that they ask for, as vLLM
/// itself makes chats of them: keys of another name or shape are rewritten, and the chat is checked
/// like any other.
[[nodiscard]] ApiResult<GenerationRequest> parse_response(std::string_view body,
                                                          ApiVersion version,
                                                          const RequestLimits& limits = {});
[[nodiscard]] ApiResult<GenerationRequest> parse_message(std::string_view body,
                                                         ApiVersion version,
                                                         const RequestLimits& limits = {});
/// The body of /v1/messages/count_tokens: a message without a limit.
[[nodiscard]] ApiResult<GenerationRequest> parse_message_to_count(std::string_view body,
                                                                  ApiVersion version);

}  // namespace ridgeline::openai
