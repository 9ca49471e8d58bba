#include "serve/event_socket.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/system_library.hpp"

namespace ridgeline::serve {
namespace {

/// Constants of zmq.h (libzmq 4.3).
constexpr int kPub = 1;
constexpr int kRouter = 6;
constexpr int kReceivesMore = 13;
constexpr int kLinger = 17;
constexpr int kSendLimit = 23;
constexpr int kLastEndpoint = 32;
constexpr int kDoNotWait = 1;
constexpr int kSendMore = 2;

/// A sequence number, as vLLM writes it: 8 bytes, the highest first.
constexpr std::size_t kNumberBytes = 8;
/// What ends a replay: -1.
constexpr std::uint64_t kEnd = ~std::uint64_t{0};

/// Functions of zmq.h, by their names there.
struct Zmq {
  /// The version whose interface is declared here.
  core::SystemLibrary library{"libzmq.so.5", "libzmq5", "KV events need"};
  void* (*ctx_new)() = nullptr;
  int (*ctx_term)(void*) = nullptr;
  void* (*socket)(void*, int kind) = nullptr;
  int (*close)(void*) = nullptr;
  int (*setsockopt)(void*, int option, const void* value, std::size_t size) = nullptr;
  int (*getsockopt)(void*, int option, void* value, std::size_t* size) = nullptr;
  int (*bind)(void*, const char* endpoint) = nullptr;
  int (*connect)(void*, const char* endpoint) = nullptr;
  int (*send)(void*, const void* bytes, std::size_t size, int flags) = nullptr;
  int (*recv)(void*, void* bytes, std::size_t size, int flags) = nullptr;
  int (*last_error)() = nullptr;
  const char* (*error_text)(int error) = nullptr;
};

Zmq load() {
  Zmq zmq;
  zmq.library.find("zmq_ctx_new", zmq.ctx_new);
  zmq.library.find("zmq_ctx_term", zmq.ctx_term);
  zmq.library.find("zmq_socket", zmq.socket);
  zmq.library.find("zmq_close", zmq.close);
  zmq.library.find("zmq_setsockopt", zmq.setsockopt);
  zmq.library.find("zmq_getsockopt", zmq.getsockopt);
  zmq.library.find("zmq_bind", zmq.bind);
  zmq.library.find("zmq_connect", zmq.connect);
  zmq.library.find("zmq_send", zmq.send);
  zmq.library.find("zmq_recv", zmq.recv);
  zmq.library.find("zmq_errno", zmq.last_error);
  zmq.library.find("zmq_strerror", zmq.error_text);
  return zmq;
}

const Zmq& library() {
  static const Zmq kZmq = load();
  return kZmq;
}

std::array<char, kNumberBytes> bytes_of(std::uint64_t number) {
  constexpr unsigned kBits = 8;
  std::array<char, kNumberBytes> bytes{};
  for (std::size_t i = bytes.size(); i > 0; --i, number >>= kBits) {
    bytes[i - 1] = static_cast<char>(number & 0xffU);
  }
  return bytes;
}

std::optional<std::uint64_t> number_of(std::string_view bytes) {
  if (bytes.size() != kNumberBytes) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  for (const char byte : bytes) {
    number = number << 8U | static_cast<unsigned char>(byte);
  }
  return number;
}

void send(void* socket, std::string_view frame, bool is_last) {
  library().send(socket, frame.data(), frame.size(), kDoNotWait | (is_last ? 0 : kSendMore));
}

/// The frames of one message; none where none has come. A frame is cut at what any of ours needs.
std::vector<std::string> receive(void* socket) {
  const Zmq& zmq = library();
  std::vector<std::string> frames;
  constexpr std::size_t kLongest = 256;  // An identity has 255 bytes at most.
  for (int more = 1; more != 0;) {
    std::array<char, kLongest> bytes{};
    const int size = zmq.recv(socket, bytes.data(), bytes.size(), kDoNotWait);
    if (size < 0) {
      return {};
    }
    frames.emplace_back(bytes.data(), std::min(static_cast<std::size_t>(size), bytes.size()));
    std::size_t length = sizeof(more);
    if (zmq.getsockopt(socket, kReceivesMore, &more, &length) != 0) {
      return {};
    }
  }
  return frames;
}

bool is_bound(std::string_view endpoint) {
  return endpoint.find('*') != std::string_view::npos ||
         endpoint.find("::") != std::string_view::npos || endpoint.starts_with("ipc://") ||
         endpoint.starts_with("inproc://");
}

/// Where the port of a `tcp` endpoint begins; npos for others.
std::size_t port_of(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  return endpoint.starts_with("tcp://") && colon != std::string_view::npos && colon > 4
             ? colon + 1
             : std::string_view::npos;
}

/// Whether the port is beyond 16 bits, which libzmq would cut.
bool has_wild_port(std::string_view endpoint) {
  constexpr std::int64_t kMostPort = 65'535;
  const std::size_t at = port_of(endpoint);
  std::int64_t port = 0;
  return at != std::string_view::npos &&
         std::from_chars(endpoint.data() + at, endpoint.data() + endpoint.size(), port).ec ==
             std::errc() &&
         (port < 0 || port > kMostPort);
}

}  // namespace

std::string endpoint_of(std::string_view endpoint, std::int64_t number, std::string_view host) {
  std::string own(endpoint);
  if (number > 0) {
    const std::size_t at = port_of(endpoint);
    std::int64_t port = 0;
    const char* const end = endpoint.data() + endpoint.size();
    if (at == std::string_view::npos) {
      own += fmt::format("_dp{}", number);
    } else if (std::from_chars(endpoint.data() + at, end, port).ec == std::errc() && port > 0) {
      own = fmt::format("{}{}", endpoint.substr(0, at), port + number);
    }
  }
  if (const std::size_t star = own.find("//*:"); star != std::string::npos) {
    own.replace(star + 2, 1, host);
  }
  return own;
}

core::Result<std::unique_ptr<EventSocket>> EventSocket::open(const KvEventsConfig& config,
                                                             std::int64_t number,
                                                             std::string_view host) {
  const Zmq& zmq = library();
  if (const auto usable = zmq.library.check(); !usable) {
    return core::fail(core::with_field(usable.error(), "--kv-events-config"));
  }
  std::unique_ptr<EventSocket> own(new EventSocket());
  own->topic_ = config.topic;
  own->kept_most_ = static_cast<std::size_t>(config.buffer_steps);
  own->context_ = zmq.ctx_new();
  const auto open = [&](int kind, const std::string& wanted, std::int64_t limit, void*& socket) {
    const std::string endpoint = endpoint_of(wanted, number, host);
    constexpr int kAtOnce = 0;
    const int most = static_cast<int>(limit);
    socket = zmq.socket(own->context_, kind);
    zmq.setsockopt(socket, kLinger, &kAtOnce, sizeof(kAtOnce));
    zmq.setsockopt(socket, kSendLimit, &most, sizeof(most));
    std::string problem = has_wild_port(endpoint) ? "a port has at most 65535" : "";
    if (problem.empty() && (is_bound(wanted) ? zmq.bind(socket, endpoint.c_str())
                                             : zmq.connect(socket, endpoint.c_str())) != 0) {
      problem = zmq.error_text(zmq.last_error());
    }
    if (problem.empty()) {
      return core::Result<void>();
    }
    return core::Result<void>(
        core::fail(core::Error{.field = "--kv-events-config",
                               .message = fmt::format("cannot use '{}': {}", endpoint, problem),
                               .where = {.file = "command line"},
                               .hint = "an endpoint such as tcp://*:5557"}));
  };
  if (auto done = open(kPub, config.endpoint, config.hwm, own->publisher_); !done) {
    return core::fail(done.error());
  }
  if (config.replay_endpoint) {
    // All that is kept may be asked for at once.
    constexpr std::int64_t kNoLimit = 0;
    if (auto done = open(kRouter, *config.replay_endpoint, kNoLimit, own->router_); !done) {
      return core::fail(done.error());
    }
  }
  std::array<char, 1024> name{};
  std::size_t length = name.size();
  if (zmq.getsockopt(own->publisher_, kLastEndpoint, name.data(), &length) == 0 && length > 0) {
    own->name_.assign(name.data(), length - 1);
  }
  return own;
}

EventSocket::~EventSocket() {
  const Zmq& zmq = library();
  for (void* const socket : {publisher_, router_}) {
    if (socket != nullptr) {
      zmq.close(socket);
    }
  }
  if (context_ != nullptr) {
    zmq.ctx_term(context_);
  }
}

void EventSocket::publish(std::string batch) {
  const auto number = bytes_of(next_);
  send(publisher_, topic_, false);
  send(publisher_, {number.data(), number.size()}, false);
  send(publisher_, batch, true);
  ++next_;
  if (router_ != nullptr && kept_most_ > 0) {
    if (kept_.size() == kept_most_) {
      kept_.pop_front();
    }
    kept_.push_back(std::move(batch));
  }
}

void EventSocket::answer_replays() {
  while (router_ != nullptr) {
    const std::vector<std::string> frames = receive(router_);
    if (frames.empty()) {
      return;
    }
    // What else comes is passed over, as vLLM does.
    constexpr std::size_t kFrames = 3;
    const auto from = frames.size() == kFrames ? number_of(frames[2]) : std::nullopt;
    if (from) {
      replay(frames[0], *from);
    }
  }
}

void EventSocket::replay(std::string_view client, std::uint64_t from) {
  const auto answer = [&](std::uint64_t number, std::string_view batch) {
    const auto bytes = bytes_of(number);
    send(router_, client, false);
    send(router_, {}, false);
    send(router_, {bytes.data(), bytes.size()}, false);
    send(router_, batch, true);
  };
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const std::uint64_t number = next_ - kept_.size() + i;
    if (number >= from) {
      answer(number, kept_[i]);
    }
  }
  answer(kEnd, {});
}

}  // namespace ridgeline::serve
