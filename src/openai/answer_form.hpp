#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "openai/answers.hpp"
#include "openai/api_error.hpp"
#include "openai/stream_events.hpp"

namespace ridgeline::openai {

/// How one answer is laid out for its client, streamed or whole. Of a stream, the calls come in the
/// order in which things happen, and each event ends with an empty line.
class AnswerForm {
 public:
  AnswerForm() = default;
  AnswerForm(const AnswerForm&) = delete;
  AnswerForm& operator=(const AnswerForm&) = delete;
  virtual ~AnswerForm() = default;

  /// What stands before a choice's first token. `is_usage_wanted`: the client asked for usage in
  /// every event.
  virtual void add_start(std::int64_t index,
                         const Usage& usage,
                         bool is_usage_wanted,
                         std::string& out) = 0;
  virtual void add_tokens(const TokenEventText& event, std::string& out) = 0;
  /// What stands behind the last token of all choices.
  virtual void add_end(std::span<const Choice> choices,
                       const Usage& usage,
                       bool is_usage_wanted,
                       std::string& out) = 0;
  /// The end of a stream that failed.
  virtual void add_failure(const ApiError& error, std::string& out) = 0;
  /// The body of an answer that is not streamed. `kv_transfer_params`: JSON.
  [[nodiscard]] virtual std::string whole(std::span<const Choice> choices,
                                          const Usage& usage,
                                          std::string_view kv_transfer_params) = 0;
  /// The body of an answer that is an error.
  [[nodiscard]] virtual std::string error(const ApiError& error) const = 0;
};

/// The form of the API that the head names. Those of responses and messages follow vLLM's
/// serving_responses.py and anthropic/serving_messages.py, from memory: they were not recorded.
[[nodiscard]] std::unique_ptr<AnswerForm> make_answer_form(const StreamHead& head);

/// A text as a JSON string.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace ridgeline::openai
