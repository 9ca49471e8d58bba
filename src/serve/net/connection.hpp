#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/net/http_parser.hpp"
#include "sim/live/clock.hpp"

namespace ridgeline::serve::net {

class Connection;

inline constexpr std::string_view kJsonType = "application/json";

/// What answers requests.
class Handler {
 public:
  Handler() = default;
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;
  virtual ~Handler() = default;
  /// A whole request. It is answered with Connection::respond(), or begin_stream() and what
  /// follows, now or later.
  virtual void on_request(Connection& connection, HttpRequest request) = 0;
  /// The client of a request that is not answered to its end has gone. The connection is closed
  /// after the call.
  virtual void on_gone(Connection& connection) = 0;
  /// Everything written to a stream has been taken, after something had to wait.
  virtual void on_writable(Connection& connection) = 0;
};

/// How long a client may take; of the design's table of limits.
struct Patience {
  std::chrono::seconds header{10};  ///< For a request's head.
  std::chrono::seconds body{60};    ///< For its body, at most.
  /// And after `header`, so many bytes of the body for each second.
  double body_rate = 1024.0;
  std::chrono::seconds idle{5};  ///< Between two requests: uvicorn's.
  /// Without a byte taken of what waits to be written; and while something waits for longer than
  /// that, `body_rate` bytes for each second.
  std::chrono::seconds write{120};
};

using HeaderList = std::vector<std::pair<std::string_view, std::string>>;

/// The phrase of a status: "Not Found".
[[nodiscard]] std::string_view phrase_of(int status);

/// One connection: reads requests one after the other, and writes their answers. Only what the
/// kernel does not take at once of one answer or one event is kept. Nothing of it throws, and what
/// fails on the socket ends the connection (is_dead()).
class Connection {
 public:
  /// Owns the descriptor, which does not block.
  Connection(int descriptor, const HttpLimits& limits, Handler& handler);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  /// Socket events, as the loop gets them.
  void on_readable();
  void on_writable();
  void on_hang_up();
  /// What it asks for cannot be held: refuses it, and ends the connection.
  void on_out_of_memory();

  /// Answers the request, whole.
  void respond(int status,
               std::string_view content_type,
               std::string_view body,
               const HeaderList& headers = {});
  /// Begins an answer of events.
  void begin_stream(std::string_view content_type, const HeaderList& headers = {});
  /// Writes one event as one chunk, in one call. Only where can_send().
  void send(std::string_view event);
  /// The last event, which leaves with the end of the stream: end_stream() follows.
  void send_with_end(std::string_view event);
  void end_stream();
  /// Ends the connection at once, with a reset where an answer is under way.
  void kill();
  /// Adds lines of a header, each with its end, to the next answer.
  void add_headers(std::string_view lines) { more_headers_ += lines; }
  /// The next answer is the last one.
  void close_after_answer() { closes_ = true; }

  /// Whether nothing waits to be taken.
  [[nodiscard]] bool can_send() const { return out_.empty(); }
  [[nodiscard]] bool is_dead() const { return is_dead_; }
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  [[nodiscard]] bool is_streaming() const { return is_streaming_; }
  [[nodiscard]] const Handler& handler() const { return handler_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// When the last bytes arrived, by the kernel's note where there is one.
  [[nodiscard]] live::WallClock::Wall arrived() const { return arrived_; }
  /// Whether it wants to read and to write.
  [[nodiscard]] bool wants_input() const;
  [[nodiscard]] bool wants_output() const { return !out_.empty(); }
  /// Ends it where its client has taken too long.
  void check_patience(live::WallClock::Wall now, const Patience& patience);
  /// Answers nothing more, and ends when idle.
  void drain();

  /// What the handler keeps beside it: its answer that is under way, 0 for none.
  std::uint64_t context = 0;
  /// The number of the last status answered.
  [[nodiscard]] int last_status() const { return last_status_; }

 private:
  void parse();
  void refuse(int status);
  void add_chunk(std::string_view event, std::string& out) const;
  void write(std::string_view bytes);
  void end_answer();
  void die();

  int descriptor_;
  Handler& handler_;
  HttpParser parser_;
  std::string in_;                       ///< Bytes that no request has taken.
  std::string out_;                      ///< Bytes that the kernel has not taken.
  live::WallClock::Wall since_;          ///< Begin of the phase: idle, head, body.
  live::WallClock::Wall progress_;       ///< The last byte taken.
  live::WallClock::Wall blocked_since_;  ///< Something has waited to be written since then, ...
  std::uint64_t blocked_bytes_ = 0;      ///< ... and so many bytes were taken.
  live::WallClock::Wall arrived_;
  bool is_busy_ = false;  ///< A request is being answered.
  bool is_streaming_ = false;
  bool is_chunked_ = true;
  bool keep_alive_ = true;
  bool closes_ = false;
  bool is_parsing_ = false;
  bool is_dead_ = false;
  bool ends_when_written_ = false;
  bool is_head_ = false;
  bool in_request_ = false;  ///< Some bytes of the next request have come.
  bool in_body_ = false;
  std::uint64_t body_bytes_ = 0;  ///< Bytes of the coming body so far.
  std::string more_headers_;
  std::string
      waiting_;  ///< A stream's head until its first event, or its last event until its end.
  int last_status_ = 0;
};

}  // namespace ridgeline::serve::net
