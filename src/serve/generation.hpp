#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "openai/answer_form.hpp"
#include "openai/answer_text.hpp"
#include "openai/request.hpp"
#include "openai/stream_events.hpp"
#include "serve/net/connection.hpp"
#include "serve/settings.hpp"

namespace ridgeline::serve {

/// One choice of an answer: one request of the engine.
struct ChoiceState {
  core::RequestId id;
  openai::AnswerText text;
  std::int64_t length = 0;      ///< Tokens that the client gets.
  std::int64_t released = 0;    ///< Tokens due so far.
  std::int64_t sent = 0;        ///< Tokens written.
  std::int64_t characters = 0;  ///< Written.
  bool has_start = false;       ///< What stands before its first token is written.
  bool has_finish = false;      ///< How it ended is written.
  bool has_ended = false;       ///< In the engine.
  std::int64_t reasoning_tokens = 0;
  std::string prefix = {};  ///< The prompt, where it is echoed.
  openai::Finish finish = {};
  std::optional<std::string> whole = {};  ///< The text, where a stop string cut it.
  std::size_t prompt = 0;

  /// Whether what is due is enough for an event of `interval` tokens.
  [[nodiscard]] bool gives_event(std::int64_t interval) const {
    const std::int64_t pending = released - sent;
    return pending >= interval || (pending > 0 && (sent == 0 || released >= length));
  }
  /// Whether the client has got, or may get, all of it.
  [[nodiscard]] bool is_whole(std::int64_t tokens) const {
    return tokens >= length && (length > 0 || has_ended);
  }
};

/// An answer that is in memory as a whole has no more bytes; nor have all that are kept.
inline constexpr std::size_t kMostAnswerBytes = std::size_t{64} << 20U;

/// An answer that is under way.
struct Generation {
  std::uint64_t serial = 0;  ///< 0: the slot is free.
  std::uint32_t slot = 0;
  /// Until the answer has ended; null where no client waits for it.
  net::Connection* connection = nullptr;
  openai::StreamHead head;
  std::unique_ptr<openai::AnswerForm> form;
  bool is_streamed = false;
  bool has_begun = false;  ///< The head of the answer is written.
  bool shows_usage = false;
  bool shows_usage_always = false;
  bool is_tool_call = false;
  bool is_due = false;        ///< The end is due.
  std::int64_t interval = 1;  ///< Tokens of an event.
  std::optional<std::int64_t> logprobs;
  /// The chat before the answer, for a response that is to be kept.
  std::optional<std::vector<openai::Message>> kept_messages;
  bool returns_token_ids = false;
  bool has_remote_decode = false;
  bool returns_prompt_logprobs = false;
  std::vector<std::int64_t> prompt_tokens;  ///< Tokens of each prompt.
  /// Token ids of each prompt, where the answer shows them.
  std::vector<std::shared_ptr<const std::vector<std::uint32_t>>> prompt_ids;
  std::vector<ChoiceState> choices;
  std::optional<Fault> fault;  ///< That strikes it.
  std::int64_t cached_tokens = 0;
  net::HeaderList headers;
  /// Streams what an answer in the background gives, from its first event on or from a later one.
  /// It has no requests of the engine's own, and an event for each token, so that events have the
  /// same numbers for all that follow.
  bool is_follower = false;
  std::int64_t events_to_skip = 0;
  bool is_streamed_in_background = false;  ///< It may be followed.

  /// Whether its client is there no more.
  [[nodiscard]] bool is_lost() const { return connection != nullptr && connection->is_dead(); }
};

/// What the events of an answer in the background follow from, for a client that follows it.
[[nodiscard]] Generation stream_of(const Generation& source);

}  // namespace ridgeline::serve
