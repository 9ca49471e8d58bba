#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "openai/answer_text.hpp"
#include "openai/api.hpp"
#include "openai/api_version.hpp"

namespace ridgeline::openai {

/// Tokens of an answer and its prompts.
struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::optional<std::int64_t> cached_tokens;  ///< Where the server shows prompt_tokens_details.
};
/// As the JSON object of a stream's event.
[[nodiscard]] std::string usage_json(const Usage& usage);

/// How a choice ended, as its client reads it.
struct Finish {
  std::string_view reason;               ///< "stop", "length", "tool_calls".
  std::optional<std::string> stop = {};  ///< The stop string that ended it.
};

/// What a token's text is in a chat.
enum class DeltaKind : std::uint8_t { kContent, kReasoning, kToolName, kToolArguments };

/// A part of a tool call.
[[nodiscard]] constexpr bool is_tool(DeltaKind kind) {
  return kind == DeltaKind::kToolName || kind == DeltaKind::kToolArguments;
}

/// What all events of a stream have in common.
struct StreamHead {
  std::string id;
  std::int64_t created = 0;  ///< Seconds since 1970.
  std::string model;
  Api api = Api::kCompletions;
  ApiVersion version;
  bool has_token_ids = false;     ///< The client asked for them.
  bool has_usage_at_end = false;  ///< A usage event follows the last token.
  std::string tool_name = {};     ///< Name of a tool call.
  std::string tool_id = {};
  /// What a response repeats of its request: keys and their JSON.
  std::map<std::string, std::string, std::less<>> echoed = {};
  std::int64_t most_tokens = 0;           ///< That the answer may have.
  std::string prompt_token_ids = "null";  ///< JSON: of a chat, where its client asked for them.
};

/// One event of a choice.
struct TokenEventText {
  std::int64_t index = 0;  ///< Index of the choice.
  std::string_view text;   ///< Its tokens, as plain text.
  DeltaKind kind = DeltaKind::kContent;
  std::string_view logprobs = "null";             ///< JSON.
  std::string_view token_ids = "null";            ///< JSON.
  std::string_view prompt_token_ids = "null";     ///< JSON, of a completion's first event.
  const std::optional<Finish>* finish = nullptr;  ///< Null or empty: it goes on.
  const Usage* usage = nullptr;                   ///< With continuous_usage_stats.
  const AnswerText* answer = nullptr;             ///< That the tokens are of.
  std::int64_t first = 0;                         ///< The number of the first one.
};

/// Writes the events of one stream: keys, their order and nulls as vLLM's version writes them. What
/// does not change from event to event is made once.
class StreamEvents {
 public:
  explicit StreamEvents(const StreamHead& head);

  /// The first event of a chat's choice.
  void add_role(std::int64_t index, const Usage* usage, std::string& out) const;
  void add_tokens(const TokenEventText& event, std::string& out) const;
  void add_usage(const Usage& usage, std::string& out) const;
  static constexpr std::string_view kDone = "data: [DONE]\n\n";

 private:
  void begin(std::string& out) const;
  static void end(const Usage* usage, std::string_view more, std::string& out);

  bool is_chat_;
  bool has_token_ids_;  ///< The key is there.
  bool has_prompt_text_;
  bool has_fingerprint_;
  std::string_view reasoning_key_;
  std::string head_;       ///< Up to the choices.
  std::string tool_head_;  ///< A tool call's id and name.
  std::string prompt_token_ids_;
};

/// Adds a text as the inside of a JSON string.
void append_escaped(std::string_view text, std::string& out);

}  // namespace ridgeline::openai
