#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "openai/answer_form.hpp"
#include "openai/answers.hpp"
#include "openai/api_error.hpp"
#include "openai/stream_events.hpp"

namespace ridgeline::openai {

/// Anthropic's messages, as vLLM answers them since 0.11.1: a stream of blocks, one of text or of a
/// tool's arguments at a time, each begun and ended; then [DONE], which Anthropic does not send.
class MessageForm final : public AnswerForm {
 public:
  explicit MessageForm(const StreamHead& head) : head_(head) {}

  void add_start(std::int64_t index,
                 const Usage& usage,
                 bool is_usage_wanted,
                 std::string& out) override;
  void add_tokens(const TokenEventText& event, std::string& out) override;
  void add_end(std::span<const Choice> choices,
               const Usage& usage,
               bool is_usage_wanted,
               std::string& out) override;
  void add_failure(const ApiError& error, std::string& out) override;
  std::string whole(std::span<const Choice> choices,
                    const Usage& usage,
                    std::string_view kv_transfer_params) override;
  [[nodiscard]] std::string error(const ApiError& error) const override;

 private:
  void begin_block(DeltaKind kind, std::string& out);
  void end_block(std::string& out);

  StreamHead head_;
  std::optional<DeltaKind> block_;  ///< That is open.
  std::int64_t blocks_ = 0;         ///< Begun.
};

/// As MessageForm::error(): a schema's refusals keep OpenAI's form, as in vLLM.
[[nodiscard]] std::string message_error(const ApiError& error, ApiVersion version);

}  // namespace ridgeline::openai
