#include "serve/net/connection.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "openai/arrival_time.hpp"
#include "serve/net/http_parser.hpp"
#include "sim/live/clock.hpp"

namespace ridgeline::serve::net {
namespace {

/// Bytes read at once.
constexpr std::size_t kReadBytes = 65'536;
/// Bytes of requests to come that are kept while one is answered.
constexpr std::size_t kMostAhead = 65'536;

}  // namespace

std::string_view phrase_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Error";
  }
}

Connection::Connection(int descriptor, const HttpLimits& limits, Handler& handler)
    : descriptor_(descriptor),
      handler_(handler),
      parser_(limits),
      since_(live::wall_now()),
      progress_(since_),
      arrived_(since_) {}

Connection::~Connection() {
  ::close(descriptor_);
}

bool Connection::wants_input() const {
  return !is_dead_ && !ends_when_written_ && (!is_busy_ || in_.size() < kMostAhead);
}

void Connection::on_readable() {
  std::array<char, kReadBytes> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const openai::Received received = openai::receive(descriptor_, buffer.data(), buffer.size(), 0);
  const ssize_t got = received.bytes;
  arrived_ = live::wall_now() - received.age;
  if (got > 0) {
    in_.append(buffer.data(), static_cast<std::size_t>(got));
    body_bytes_ += in_body_ ? static_cast<std::uint64_t>(got) : 0;
    parse();
  } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) {
    on_hang_up();
  }
}

void Connection::on_out_of_memory() {
  constexpr int kUnavailable = 503;
  if (is_busy_ || is_dead_) {
    on_hang_up();
    return;
  }
  std::string().swap(in_);
  refuse(kUnavailable);
}

void Connection::on_hang_up() {
  if (is_dead_) {
    return;
  }
  if (is_busy_) {
    handler_.on_gone(*this);
  }
  die();
}

void Connection::die() {
  is_dead_ = true;
  is_busy_ = false;
  out_.clear();
}

void Connection::kill() {
  if (is_busy_) {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  die();
}

/// Requests are taken while none is being answered; an answer given at once comes back here.
void Connection::parse() {
  if (is_parsing_) {
    return;
  }
  is_parsing_ = true;
  std::size_t begin = 0;
  while (!is_busy_ && !is_dead_ && !ends_when_written_ && begin < in_.size()) {
    if (!in_request_) {
      in_request_ = true;
      since_ = live::wall_now();
    }
    std::size_t used = 0;
    const auto status = parser_.feed(std::string_view(in_).substr(begin), used);
    begin += used;
    if (status == HttpParser::Status::kBad) {
      refuse(parser_.error_status());
      break;
    }
    if (status == HttpParser::Status::kMore) {
      if (parser_.wants_continue()) {
        write("HTTP/1.1 100 Continue\r\n\r\n");
      }
      if (parser_.has_header() && !in_body_) {
        in_body_ = true;
        body_bytes_ = 0;
        since_ = live::wall_now();
      }
      break;
    }
    HttpRequest request = parser_.take();
    in_request_ = false;
    in_body_ = false;
    is_busy_ = true;
    is_head_ = request.method == "HEAD";
    keep_alive_ = request.keep_alive;
    is_chunked_ = !request.is_http_1_0;
    handler_.on_request(*this, std::move(request));
  }
  in_.erase(0, begin);
  is_parsing_ = false;
}

void Connection::refuse(int status) {
  closes_ = true;
  is_busy_ = true;
  respond(status,
          kJsonType,
          fmt::format(R"({{"error":{{"message":"Invalid HTTP request received.","type":"{}",)"
                      R"("param":null,"code":{}}}}})",
                      phrase_of(status),
                      status));
}

void Connection::respond(int status,
                         std::string_view content_type,
                         std::string_view body,
                         const HeaderList& headers) {
  last_status_ = status;
  const bool closes = closes_ || !keep_alive_;
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nserver: ridgeline\r\ncontent-length: {}\r\n",
                                 status,
                                 phrase_of(status),
                                 body.size());
  if (!content_type.empty()) {
    text += fmt::format("content-type: {}\r\n", content_type);
  }
  for (const auto& [name, value] : headers) {
    text += fmt::format("{}: {}\r\n", name, value);
  }
  text += std::exchange(more_headers_, {});
  if (closes) {
    text += "connection: close\r\n";
  } else if (!is_chunked_) {
    text += "connection: keep-alive\r\n";
  }
  text += "\r\n";
  if (!is_head_) {
    text += body;
  }
  write(text);
  end_answer();
}

void Connection::begin_stream(std::string_view content_type, const HeaderList& headers) {
  constexpr int kOk = 200;
  last_status_ = kOk;
  is_streaming_ = true;
  closes_ = closes_ || !is_chunked_;
  std::string text =
      fmt::format("HTTP/1.1 200 OK\r\nserver: ridgeline\r\ncontent-type: {}\r\n", content_type);
  for (const auto& [name, value] : headers) {
    text += fmt::format("{}: {}\r\n", name, value);
  }
  text += std::exchange(more_headers_, {});
  if (is_chunked_) {
    text += "transfer-encoding: chunked\r\n";
  }
  if (closes_ || !keep_alive_) {
    text += "connection: close\r\n";
  }
  text += "\r\n";
  waiting_ = std::move(text);  // One write, and one read of the client, fewer.
}

void Connection::add_chunk(std::string_view event, std::string& out) const {
  if (!is_chunked_) {
    out += event;
    return;
  }
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", event.size());
  out += event;
  out += "\r\n";
}

void Connection::send(std::string_view event) {
  static thread_local std::string chunk;
  chunk = std::exchange(waiting_, {});
  add_chunk(event, chunk);
  write(chunk);
}

void Connection::send_with_end(std::string_view event) {
  add_chunk(event, waiting_);
}

void Connection::end_stream() {
  is_streaming_ = false;
  write(std::exchange(waiting_, {}) + (is_chunked_ ? "0\r\n\r\n" : ""));
  end_answer();
}

void Connection::end_answer() {
  is_busy_ = false;
  context = 0;
  since_ = live::wall_now();
  in_request_ = !in_.empty();
  if (closes_ || !keep_alive_) {
    ends_when_written_ = true;
    if (out_.empty()) {
      ::shutdown(descriptor_, SHUT_WR);
      die();
    }
    return;
  }
  parse();
}

void Connection::write(std::string_view bytes) {
  if (is_dead_) {
    return;
  }
  if (out_.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      // The loop reports the hang-up, never a call of the handler.
      ::shutdown(descriptor_, SHUT_RDWR);
      return;
    }
    if (bytes.empty()) {
      return;
    }
    progress_ = live::wall_now();
    blocked_since_ = progress_;
    blocked_bytes_ = 0;
  }
  out_ += bytes;
}

void Connection::on_writable() {
  if (out_.empty() || is_dead_) {
    return;
  }
  const ssize_t sent = ::send(descriptor_, out_.data(), out_.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      on_hang_up();
    }
    return;
  }
  progress_ = live::wall_now();
  blocked_bytes_ += static_cast<std::uint64_t>(sent);
  out_.erase(0, static_cast<std::size_t>(sent));
  if (!out_.empty()) {
    return;
  }
  out_.shrink_to_fit();
  if (ends_when_written_) {
    ::shutdown(descriptor_, SHUT_WR);
    die();
  } else if (is_busy_) {
    handler_.on_writable(*this);
  }
}

void Connection::check_patience(live::WallClock::Wall now, const Patience& patience) {
  constexpr int kTimeout = 408;
  if (is_dead_) {
    return;
  }
  if (!out_.empty()) {
    const std::chrono::duration<double> blocked = now - blocked_since_;
    const bool is_slow = blocked > patience.write &&
                         static_cast<double>(blocked_bytes_) < patience.body_rate * blocked.count();
    if (now - progress_ > patience.write || is_slow) {
      on_hang_up();
    }
  } else if (!is_busy_ && in_request_) {
    const std::chrono::duration<double> taken = now - since_;
    const bool is_slow = in_body_ && taken > patience.header &&
                         static_cast<double>(body_bytes_) < patience.body_rate * taken.count();
    if (taken > (in_body_ ? patience.body : patience.header) || is_slow) {
      refuse(kTimeout);
    }
  } else if (!is_busy_ && now - since_ > patience.idle) {
    die();
  }
}

void Connection::drain() {
  closes_ = true;
  if (!is_busy_ && out_.empty()) {
    die();
  }
}

}  // namespace ridgeline::serve::net
