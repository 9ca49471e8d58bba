#include "observe/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"

namespace ridgeline::observe {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

tl::unexpected<core::Errors> refuse(std::string_view text, std::string expected) {
  return core::fail(
      core::Error{.message = fmt::format("found {}, expected {}", core::quote(text), expected),
                  .where = {.file = "command line"},
                  .hint = "http://127.0.0.1:8000, https://host/prefix or unix:/run/server.sock"});
}

bool is_host_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

bool is_path_letter(char c) {
  return c > ' ' && c < '\x7f' && c != '?' && c != '#' && c != '"' && c != '\\';
}

core::Result<Target> parse_socket(std::string_view text, std::string_view path) {
  if (!path.starts_with('/') || path.size() >= sizeof(sockaddr_un::sun_path)) {
    return refuse(text,
                  fmt::format("unix: and an absolute path of at most {} bytes",
                              sizeof(sockaddr_un::sun_path) - 1));
  }
  return Target{.text = std::string(text), .scheme = "http", .socket = std::string(path)};
}

/// "host:port" or "[v6]:port" into a target.
bool read_authority(std::string_view authority, Target& target) {
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) {
      return false;
    }
    target.host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    in6_addr parsed{};
    if (inet_pton(AF_INET6, target.host.c_str(), &parsed) != 1) {
      return false;
    }
  } else {
    const std::size_t colon = std::min(authority.find(':'), authority.size());
    target.host = authority.substr(0, colon);
    port = authority.substr(colon);
    if (target.host.empty() || !std::ranges::all_of(target.host, is_host_letter)) {
      return false;
    }
  }
  if (port.empty()) {
    target.port = target.scheme == "https" ? kHttpsPort : kHttpPort;
    return true;
  }
  target.port = core::parse_whole<std::uint16_t>(port.substr(1)).value_or(0);
  return port.front() == ':' && target.port != 0;
}

}  // namespace

std::string Target::base_url() const {
  if (!socket.empty()) {
    return "http://localhost";
  }
  const bool is_v6 = host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}{}", scheme, is_v6 ? "[" + host + "]" : host, port, prefix);
}

core::Result<Target> parse_target(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.starts_with(kUnix)) {
    return parse_socket(text, text.substr(kUnix.size()));
  }
  const std::size_t slashes = text.find("://");
  if (slashes == std::string_view::npos) {
    return refuse(text, "a URL");
  }
  Target target{.text = std::string(text), .scheme = std::string(text.substr(0, slashes))};
  if (target.scheme != "http" && target.scheme != "https") {
    return refuse(text, "the scheme http or https");
  }
  std::string_view rest = text.substr(slashes + 3);
  const std::size_t path = std::min(rest.find_first_of("/?#"), rest.size());
  const std::string_view authority = rest.substr(0, path);
  rest.remove_prefix(path);
  if (authority.find('@') != std::string_view::npos) {
    // Not repeated: it may hold a key.
    return refuse(target.scheme + "://...@...", "no user or key in the URL: --api-key-file FILE");
  }
  if (!read_authority(authority, target)) {
    return refuse(text, "a host and a port from 1 to 65535");
  }
  if (!std::ranges::all_of(rest, is_path_letter)) {
    return refuse(text, "no query, fragment or blank behind the host");
  }
  while (rest.ends_with('/')) {
    rest.remove_suffix(1);
  }
  constexpr std::string_view kVersion = "/v1";
  if (rest.ends_with(kVersion)) {
    rest.remove_suffix(kVersion.size());
  }
  target.prefix = rest;
  return target;
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes.data(), buffer.data(), buffer.size());
  return buffer.data();
}

bool is_loopback(const Address& address) {
  constexpr std::uint8_t kLoopbackNet = 127;
  const auto& bytes = address.bytes;
  if (address.size == 4) {
    return bytes[0] == kLoopbackNet;
  }
  const auto zero = [&](std::size_t from, std::size_t to) {
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                       bytes.begin() + static_cast<std::ptrdiff_t>(to),
                       [](std::uint8_t byte) { return byte == 0; });
  };
  constexpr std::uint8_t kMapped = 0xff;
  const bool is_mapped = zero(0, 10) && bytes[10] == kMapped && bytes[11] == kMapped;
  return (zero(0, 15) && bytes[15] == 1) || (is_mapped && bytes[12] == kLoopbackNet);
}

core::Result<std::vector<Address>> resolve_host(const Target& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(target.host.c_str(), nullptr, &hints, &found); error != 0) {
    return core::fail(core::Error{
        .field = target.text,
        .message = fmt::format("host {} has no address: {}", target.host, gai_strerror(error)),
        .where = {.file = "command line"}});
  }
  std::vector<Address> addresses;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    Address address;
    if (next->ai_family == AF_INET) {
      sockaddr_in v4{};
      std::memcpy(&v4, next->ai_addr, sizeof v4);
      std::memcpy(address.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    } else if (next->ai_family == AF_INET6) {
      sockaddr_in6 v6{};
      std::memcpy(&v6, next->ai_addr, sizeof v6);
      std::memcpy(address.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
      address.size = sizeof v6.sin6_addr;
    } else {
      continue;
    }
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

core::Result<Address> choose_address(const Target& target,
                                     std::span<const Address> addresses,
                                     bool allow_remote) {
  if (addresses.empty()) {
    return core::fail(core::Error{.field = target.text,
                                  .message = fmt::format("host {} has no address", target.host),
                                  .where = {.file = "command line"}});
  }
  const auto remote = std::ranges::find_if_not(addresses, is_loopback);
  if (!allow_remote && remote != addresses.end()) {
    return core::fail(core::Error{
        .field = target.text,
        .message = fmt::format("{} is {}, expected an address of this machine (127.0.0.1, ::1) or "
                               "a UNIX socket",
                               target.host,
                               remote->text()),
        .where = {.file = "command line"},
        .hint = "--allow-remote, if that server is yours to load"});
  }
  // IPv4 first where a host has both on this machine: servers listen there by default.
  const auto v4 = std::ranges::find(addresses, 4, &Address::size);
  return !allow_remote && v4 != addresses.end() ? *v4 : addresses.front();
}

}  // namespace ridgeline::observe
