#include "observe/round_trip.hpp"

#include <cstdint>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "core/time.hpp"
#include "observe/run_clock.hpp"
#include "observe/target.hpp"

namespace ridgeline::observe {
namespace {

/// A port of 127.0.0.1 at which nothing is accepted: its kernel answers alone.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof any;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&any), size), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&any), &size), 0);
    number_ = ntohs(any.sin_port);
  }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;
  ~Port() { ::close(socket_); }

  void listen() const { EXPECT_EQ(::listen(socket_, 64), 0); }
  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

Address loopback() {
  Address address;
  const in_addr_t bytes = htonl(INADDR_LOOPBACK);
  std::memcpy(address.bytes.data(), &bytes, sizeof bytes);
  return address;
}

TEST(RoundTrip, NeedsNoServerThatAccepts) {
  const Port port;
  port.listen();
  const RunClock clock;
  const auto time = measure_round_trip(clock, loopback(), port.number());
  ASSERT_TRUE(time.has_value());
  EXPECT_GT(*time, core::Duration());
  EXPECT_LT(*time, core::Duration::milliseconds(20));  // 0.1 ms on an idle machine.
}

TEST(RoundTrip, IsNoneWhereNothingListens) {
  const Port port;
  const RunClock clock;
  EXPECT_FALSE(measure_round_trip(clock, loopback(), port.number()).has_value());
}

}  // namespace
}  // namespace ridgeline::observe
