#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "openai/sampling.hpp"

namespace ridgeline::openai {

/// A prompt of a completion: a text, or the ids of its tokens.
using PromptInput = std::variant<std::string, std::vector<std::int64_t>>;

/// A message of a chat.
struct Message {
  std::string role;
  std::string text;  ///< Its parts of text, one after the other, tool calls included.
  std::int64_t images = 0;
};

/// How `tool_choice` was put.
enum class ToolChoice : std::uint8_t { kNone, kAuto, kRequired, kNamed };

/// What of a response no chat has.
struct ResponseOptions {
  std::optional<std::string> previous;  ///< The id of the response that it goes on from.
  bool is_stored = true;                ///< Its client wants it kept.
  bool is_background = false;           ///< Its client does not wait for it.
  bool has_instructions = false;        ///< They are its first message.
};

/// A request for a generation, of any kind, as its body states it. Unknown keys were passed
/// over, and of keys that come twice the last one counts.
struct GenerationRequest {
  Api api = Api::kCompletions;
  std::optional<std::string> model;
  std::vector<PromptInput> prompts;        ///< Prompts of a completion.
  std::vector<Message> messages;           ///< Messages of a chat.
  std::optional<std::int64_t> max_tokens;  ///< max_completion_tokens where a chat has it.
  std::int64_t min_tokens = 0;
  bool ignore_eos = false;
  std::vector<std::string> stop;
  bool include_stop = false;  ///< include_stop_str_in_output.
  std::int64_t n = 1;
  bool stream = false;
  bool include_usage = false;
  bool continuous_usage = false;
  std::optional<std::int64_t> stream_interval;
  std::optional<std::int64_t> logprobs;  ///< How many alternatives of each token; 0: of it alone.
  /// How many alternatives of each of the prompt's tokens; -1: of all that there are.
  std::optional<std::int64_t> prompt_logprobs;
  std::vector<std::int64_t> biased_tokens;  ///< logit_bias.
  bool echo = false;
  std::int64_t priority = 0;
  std::string cache_salt;
  std::optional<std::string> request_id;
  bool add_generation_prompt = true;
  bool return_token_ids = false;
  /// How many tokens of its end a prompt keeps; -1: as many as the model takes.
  std::optional<std::int64_t> truncate_prompt_tokens;
  std::optional<std::int64_t> output_tokens;  ///< vllm_xargs.ridgeline_output_tokens.
  // Structured outputs and tools: JSON texts, read again where they are used.
  std::optional<std::string> schema;  ///< The answer is its smallest instance; "{}": any object.
  std::vector<std::string> choices;   ///< The answer is one of these (the first).
  std::optional<std::string> regex;   ///< The answer is a text that it matches.
  std::vector<std::string> tools;     ///< The functions, in order.
  std::string tools_text;             ///< As it stands in the prompt.
  std::string tool_name;              ///< Tool for kNamed.
  ToolChoice tool_choice = ToolChoice::kNone;
  bool do_remote_decode = false;  ///< kv_transfer_params.
  ResponseOptions response = {};
  /// What a response repeats of its request: keys and their JSON.
  std::map<std::string, std::string, std::less<>> echoed = {};

  /// Whether it asks with messages.
  [[nodiscard]] bool is_chat() const { return api != Api::kCompletions; }
};

/// What a body may ask for at most.
struct RequestLimits {
  std::int64_t prompts = 1024;
  std::int64_t n = 128;
  std::int64_t logprobs = kMostLogprobs;  ///< -1: as many as there are tokens.
};

/// Read bodies as vLLM does: what its schema refuses has the phrase as its type.
[[nodiscard]] ApiResult<GenerationRequest> parse_completion(std::string_view body,
                                                            ApiVersion version,
                                                            const RequestLimits& limits = {});
[[nodiscard]] ApiResult<GenerationRequest> parse_chat(std::string_view body,
                                                      ApiVersion version,
                                                      const RequestLimits& limits = {});

}  // namespace ridgeline::openai
