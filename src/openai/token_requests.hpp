#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openai/api_error.hpp"
#include "openai/request.hpp"

namespace ridgeline::openai {

/// The body of /tokenize: a text, or messages.
struct TokenizeRequest {
  std::optional<std::string> model;
  std::optional<std::string> prompt;
  std::vector<Message> messages;
  bool add_special_tokens = true;
  bool return_token_strings = false;
  bool add_generation_prompt = true;
};
[[nodiscard]] ApiResult<TokenizeRequest> parse_tokenize(std::string_view body);

/// The body of /detokenize.
struct DetokenizeRequest {
  std::optional<std::string> model;
  std::vector<std::int64_t> tokens;
};
[[nodiscard]] ApiResult<DetokenizeRequest> parse_detokenize(std::string_view body);

/// The body of /v1/load_lora_adapter and /v1/unload_lora_adapter.
struct AdapterRequest {
  std::string name;
  std::string path;
};
[[nodiscard]] ApiResult<AdapterRequest> parse_adapter(std::string_view body);

/// The body of /collective_rpc: the method's name.
[[nodiscard]] ApiResult<std::string> parse_worker_call(std::string_view body);

}  // namespace ridgeline::openai
