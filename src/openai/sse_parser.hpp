#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace ridgeline::openai {

/// What a stream of server-sent events may hold before it is refused, so that a hostile server
/// cannot fill the memory of its reader.
struct SseLimits {
  std::size_t line_bytes = std::size_t{1} << 20;    ///< One line, without its end.
  std::size_t event_bytes = std::size_t{4} << 20;   ///< The data of one event.
  std::size_t stream_bytes = std::size_t{1} << 30;  ///< All of it.
};

/// One event. The texts live until the handler returns.
struct SseEvent {
  std::string_view type;  ///< From its last `event:` line; empty: "message".
  std::string_view data;  ///< Its `data:` lines, with '\n' between them.
};

/// Reads text/event-stream (HTML Living Standard, 9.2 "Server-sent events", of 2026) from pieces
/// that may be cut anywhere: lines end with LF, CR or CRLF, a byte order mark and comments are read
/// over, `data:` stands with or without a space behind it and on any number of lines. Beyond the
/// standard: what the stream's end leaves open counts as an event (end()), since some servers close
/// the connection right behind "data: [DONE]".
class SseParser {
 public:
  using Handler = std::function<void(const SseEvent&)>;

  explicit SseParser(const SseLimits& limits = {}) : limits_(limits) {}

  /// Takes the next bytes and hands over the events that they complete, in order. False: a limit is
  /// passed, as problem() says; the parser takes nothing more then.
  bool feed(std::string_view bytes, const Handler& handler);
  /// The stream has ended: hands over an event that no blank line closed, if there is one.
  void end(const Handler& handler);

  /// Which limit was passed; empty while none was.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  bool take_line(std::string_view line, const Handler& handler);
  bool take_field(std::string_view name, std::string_view value);
  void dispatch(const Handler& handler);
  bool refuse(std::string_view what, std::size_t limit);

  SseLimits limits_;
  std::size_t read_ = 0;
  std::string line_;  ///< The part of a line that came with earlier pieces.
  std::string data_;
  std::string type_;
  bool has_data_ = false;
  bool first_line_ = true;
  bool after_cr_ = false;  ///< A line feed that comes now belongs to the line before.
  std::string problem_;
};

}  // namespace ridgeline::openai
