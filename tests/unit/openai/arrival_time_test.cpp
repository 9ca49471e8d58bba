// The time at which bytes came to a socket, by the kernel's note, after they have waited.
#include "openai/arrival_time.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <netinet/in.h>

namespace ridgeline::openai {
namespace {

using namespace std::chrono_literals;

/// Two ends of a connection over loopback.
class Loopback {
 public:
  Loopback() {
    const int door = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    note_arrivals(door);
    EXPECT_EQ(::bind(door, any, size), 0);
    EXPECT_EQ(::listen(door, 1), 0);
    EXPECT_EQ(::getsockname(door, any, &size), 0);
    client = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(client, any, size), 0);
    server = ::accept(door, nullptr, nullptr);
    EXPECT_GE(server, 0);
    ::close(door);
  }
  Loopback(const Loopback&) = delete;
  Loopback& operator=(const Loopback&) = delete;
  ~Loopback() {
    ::close(client);
    ::close(server);
  }

  int client = -1;
  int server = -1;
};

TEST(ArrivalTime, IsWhenTheLastBytesCame) {
  const Loopback loopback;
  std::array<char, 16> buffer{};
  // The kernel begins to note times a little after the first socket wants them.
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(::send(loopback.client, "ab", 2, 0), 2);
    std::this_thread::sleep_for(20ms);
    const Received seen =
        receive(loopback.server, buffer.data(), buffer.size(), MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    const Received read = receive(loopback.server, buffer.data(), buffer.size(), 0);
    ASSERT_EQ(seen.bytes, 2);
    ASSERT_EQ(read.bytes, 2);
    if (read.age > 0ns) {
      EXPECT_GE(seen.age, 19ms);
      EXPECT_GE(read.age, seen.age);
      EXPECT_LT(read.age, 10s);
      return;
    }
  }
  GTEST_SKIP() << "the kernel notes no times here";
}

TEST(ArrivalTime, IsNowWhereNothingCame) {
  const Loopback loopback;
  std::array<char, 16> buffer{};
  const Received none = receive(loopback.server, buffer.data(), buffer.size(), MSG_DONTWAIT);
  EXPECT_LT(none.bytes, 0);
  EXPECT_EQ(none.age, 0ns);
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  note_arrivals(pair[1]);
  ASSERT_EQ(::send(pair[0], "a", 1, 0), 1);
  EXPECT_EQ(receive(pair[1], buffer.data(), buffer.size(), 0).bytes, 1);
  ::close(pair[0]);
  ::close(pair[1]);
}

}  // namespace
}  // namespace ridgeline::openai
