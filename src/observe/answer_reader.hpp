#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.hpp"
#include "document/document.hpp"
#include "openai/sse_parser.hpp"

namespace ridgeline::observe {

/// How a streamed answer ended.
enum class StreamEnd : std::uint8_t {
  kDone,   ///< With "data: [DONE]".
  kClose,  ///< The server closed the stream without it.
  kError,  ///< With an error: of the server, the connection, or what was read.
};
[[nodiscard]] constexpr std::string_view name(StreamEnd end) {
  return end == StreamEnd::kDone ? "done" : end == StreamEnd::kClose ? "close" : "error";
}

/// A streamed answer of an OpenAI-compatible server, as it came in.
struct Answer {
  std::optional<core::SimTime> first_event;  ///< The first that does more than name a chat's role.
  std::optional<core::SimTime> first_text;   ///< The first with text.
  std::optional<core::SimTime> last_event;   ///< The last with a choice.
  core::SimTime end;                         ///< End of the stream.
  /// Events that stand for output: all with a choice but the one that only names the role.
  std::int64_t events = 0;
  std::int64_t coalesced = 0;                 ///< Events that came in one read with the one before.
  std::vector<core::Duration> gaps;           ///< Between them.
  std::optional<std::int64_t> prompt_tokens;  ///< The server's count, like the next two.
  std::optional<std::int64_t> completion_tokens;
  std::optional<std::int64_t> cached_tokens;
  std::string finish_reason;
  std::string request_id;  ///< "id" of the first event.
  std::string text;        ///< Where it is kept.
  StreamEnd ended = StreamEnd::kClose;
  std::string error;   ///< One line; empty: none.
  int error_code = 0;  ///< That an error within the stream states.
};

/// Reads an answer of /v1/completions or /v1/chat/completions while it comes in.
class AnswerReader {
 public:
  explicit AnswerReader(bool keep_text) : keep_text_(keep_text) {}

  /// Bytes of the body, and when they were read. False: nothing more is wanted, as the answer's
  /// error says.
  bool take(int status, std::string_view content_type, std::string_view bytes, core::SimTime read);
  /// The exchange is over; `problem` of the connection, empty for none.
  void end(int status, std::string_view problem, core::SimTime at);

  [[nodiscard]] const Answer& answer() const { return answer_; }
  [[nodiscard]] Answer&& take_answer() { return std::move(answer_); }

 private:
  void on_event(const openai::SseEvent& event, core::SimTime read);
  bool take_counts(const document::Node& usage);
  void take_choice(const document::Node& choice, core::SimTime read);
  void fail(std::string error);

  bool keep_text_;
  openai::SseParser parser_;
  std::string refusal_;  ///< The body of an answer that is none of status 200.
  Answer answer_;
};

}  // namespace ridgeline::observe
