#include "observe/round_trip.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <netinet/in.h>

#include "core/time.hpp"
#include "observe/run_clock.hpp"
#include "observe/target.hpp"

namespace ridgeline::observe {
namespace {

constexpr std::size_t kHandshakes = 21;  // Odd: the median is one of them.
/// Requests come after pauses, too, from which a processor has to wake up.
constexpr std::chrono::milliseconds kPause{10};
constexpr std::int64_t kHandshakeSeconds = 2;

socklen_t fill(const Address& address, std::uint16_t port, sockaddr_storage& out) {
  if (address.size == sizeof(in_addr)) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, address.bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&out, &v4, sizeof v4);
    return sizeof v4;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  std::memcpy(&v6.sin6_addr, address.bytes.data(), sizeof v6.sin6_addr);
  std::memcpy(&out, &v6, sizeof v6);
  return sizeof v6;
}

std::optional<core::Duration> handshake(const RunClock& clock,
                                        const sockaddr_storage& to,
                                        socklen_t size) {
  const int socket = ::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return std::nullopt;
  }
  const timeval longest{.tv_sec = kHandshakeSeconds, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
  const core::SimTime begin = clock.now();
  const int done = ::connect(socket, reinterpret_cast<const sockaddr*>(&to), size);
  const core::Duration took = clock.now() - begin;
  ::close(socket);
  return done == 0 ? std::optional(took) : std::nullopt;
}

}  // namespace

std::optional<core::Duration> measure_round_trip(const RunClock& clock,
                                                 const Address& address,
                                                 std::uint16_t port) {
  sockaddr_storage to{};
  const socklen_t size = fill(address, port, to);
  std::array<core::Duration, kHandshakes> times;
  for (core::Duration& time : times) {
    std::this_thread::sleep_for(kPause);
    const auto took = handshake(clock, to, size);
    if (!took) {
      return std::nullopt;
    }
    time = *took;
  }
  const auto middle = times.begin() + kHandshakes / 2;
  std::ranges::nth_element(times, middle);
  return *middle;
}

}  // namespace ridgeline::observe
