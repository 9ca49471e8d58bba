#include "serve/net/listener.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "openai/arrival_time.hpp"

namespace ridgeline::serve::net {
namespace {

constexpr int kBacklog = 4096;

std::string reason() {
  return core::system_message(errno);
}

core::Error address_error(std::string field, std::string message) {
  return {
      .field = std::move(field), .message = std::move(message), .where = {.file = "command line"}};
}

bool is_loopback_address(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, address, sizeof four);
    return (ntohl(four.sin_addr.s_addr) >> 24U) == 127U;
  }
  sockaddr_in6 six{};
  std::memcpy(&six, address, sizeof six);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0;
}

}  // namespace

Listener::Listener(Listener&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      is_loopback_(other.is_loopback_),
      is_tcp_(other.is_tcp_),
      name_(std::move(other.name_)),
      path_(std::exchange(other.path_, {})) {}

Listener::~Listener() {
  close();
}

void Listener::close() {
  if (descriptor_ >= 0) {
    ::close(std::exchange(descriptor_, -1));
  }
  if (!path_.empty()) {
    ::unlink(std::exchange(path_, {}).c_str());
  }
}

core::Result<Listener> Listener::open_local(const Address& address) {
  Listener listener;
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  if (address.uds.size() >= sizeof local.sun_path) {
    return core::fail(
        address_error("--uds",
                      fmt::format("'{}' is longer than the {} bytes of a socket's path",
                                  address.uds,
                                  sizeof local.sun_path - 1)));
  }
  std::ranges::copy(address.uds, static_cast<char*>(local.sun_path));
  struct stat facts{};
  if (::stat(address.uds.c_str(), &facts) == 0 && S_ISSOCK(facts.st_mode)) {
    ::unlink(address.uds.c_str());  // A server that was killed left it.
  }
  listener.is_tcp_ = false;
  listener.descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener.descriptor_ < 0 ||
      ::bind(listener.descriptor_, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0 ||
      ::listen(listener.descriptor_, kBacklog) != 0) {
    return core::fail(
        address_error("--uds", fmt::format("cannot listen at '{}': {}", address.uds, reason())));
  }
  listener.path_ = address.uds;
  listener.name_ = "unix:" + address.uds;
  return listener;
}

core::Result<Listener> Listener::open(const Address& address) {
  if (!address.uds.empty()) {
    return open_local(address);
  }
  Listener listener;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (failure != 0) {
    return core::fail(address_error(
        "--host", fmt::format("'{}' is no address: {}", address.host, ::gai_strerror(failure))));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  listener.descriptor_ =
      ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
  const int yes = 1;
  if (listener.descriptor_ < 0 ||
      ::setsockopt(listener.descriptor_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(listener.descriptor_, found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(listener.descriptor_, kBacklog) != 0) {
    return core::fail(address_error(
        "--port", fmt::format("cannot listen at {}:{}: {}", address.host, address.port, reason())));
  }
  openai::note_arrivals(listener.descriptor_);
  sockaddr_storage taken{};
  socklen_t length = sizeof taken;
  ::getsockname(listener.descriptor_, reinterpret_cast<sockaddr*>(&taken), &length);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&taken),
                length,
                host.data(),
                host.size(),
                port.data(),
                port.size(),
                NI_NUMERICHOST | NI_NUMERICSERV);
  listener.is_loopback_ = is_loopback_address(reinterpret_cast<const sockaddr*>(&taken));
  listener.name_ = taken.ss_family == AF_INET6
                       ? fmt::format("http://[{}]:{}", host.data(), port.data())
                       : fmt::format("http://{}:{}", host.data(), port.data());
  return listener;
}

int Listener::accept() const {
  const int descriptor = ::accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) {
    return errno == EMFILE || errno == ENFILE ? -2 : -1;
  }
  if (is_tcp_) {
    const int yes = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  }
  return descriptor;
}

}  // namespace ridgeline::serve::net
