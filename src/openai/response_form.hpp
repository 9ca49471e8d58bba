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

/// OpenAI's responses, as vLLM answers them since 0.10: an answer is a list of items (reasoning, a
/// message, a function's call), and a stream numbers its events.
class ResponseForm final : public AnswerForm {
 public:
  explicit ResponseForm(const StreamHead& head) : head_(head) {}

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
  /// A response without an answer: "queued", "cancelled", "failed".
  [[nodiscard]] std::string without_answer(std::string_view status) const;

 private:
  void add_event(std::string_view type,
                 std::string_view before,
                 std::string_view after,
                 std::string& out);
  void begin_item(DeltaKind kind, std::string& out);
  void end_item(std::string_view text, std::string& out);
  [[nodiscard]] std::string item(DeltaKind kind, std::string_view text, bool is_done) const;
  [[nodiscard]] std::string item_id(DeltaKind kind) const;
  [[nodiscard]] std::string object(std::string_view status,
                                   std::string_view output,
                                   const Finish* finish,
                                   const Usage* usage,
                                   std::int64_t reasoning_tokens) const;
  [[nodiscard]] std::string_view echo(std::string_view key, std::string_view usual) const;

  StreamHead head_;
  std::optional<DeltaKind> item_;  ///< That is open.
  std::int64_t items_ = 0;         ///< Begun.
  std::int64_t events_ = 0;        ///< Written.
};

}  // namespace ridgeline::openai
