#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::observe {

/// A server as the user names it: `http://host:port[/prefix]`, `https://...`, or `unix:/path` for
/// a UNIX socket. A prefix that ends with /v1 is the server's own and is left out.
struct Target {
  std::string text;       ///< As given.
  std::string scheme;     ///< "http" or "https".
  std::string host = {};  ///< A name or an address, IPv6 without brackets; empty for a UNIX socket.
  std::uint16_t port = 0;
  std::string prefix = {};  ///< Before every path: "" or "/team-a".
  std::string socket = {};  ///< The path of a UNIX socket; empty: TCP.

  /// "http://host:port/prefix", to which a path is added.
  [[nodiscard]] std::string base_url() const;
};
[[nodiscard]] core::Result<Target> parse_target(std::string_view text);

/// An address of a host, in network order; IPv4 has 4 bytes.
struct Address {
  std::array<std::uint8_t, 16> bytes{};
  std::uint8_t size = 4;

  [[nodiscard]] std::string text() const;
};
/// 127.0.0.0/8, ::1, and the first within IPv6 (::ffff:127.0.0.0/104).
[[nodiscard]] bool is_loopback(const Address& address);

/// The addresses that the system's resolver gives. Fails where there are none.
[[nodiscard]] core::Result<std::vector<Address>> resolve_host(const Target& target);

/// The address that every request of a run goes to: the first. Unless `allow_remote`, a host with
/// any address that is no loopback is refused, so that no server elsewhere is loaded by mistake.
[[nodiscard]] core::Result<Address> choose_address(const Target& target,
                                                   std::span<const Address> addresses,
                                                   bool allow_remote);

}  // namespace ridgeline::observe
