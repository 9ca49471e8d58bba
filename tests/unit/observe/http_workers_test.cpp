// Clients in threads of their own: each request is answered once, its end comes from run(), and
// what is in flight may be given up.
#include "observe/http_workers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include "core/time.hpp"
#include "observe/http_client.hpp"
#include "observe/run_clock.hpp"
#include "observe/target.hpp"

namespace ridgeline::observe {
namespace {

/// Answers each GET of a path with that path, one connection after the other; "/never" with
/// silence.
class SmallServer {
 public:
  SmallServer() : door_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(door_, any, size), 0);
    EXPECT_EQ(::listen(door_, 64), 0);
    EXPECT_EQ(::getsockname(door_, any, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  SmallServer(const SmallServer&) = delete;
  SmallServer& operator=(const SmallServer&) = delete;
  ~SmallServer() {
    ::shutdown(door_, SHUT_RDWR);
    thread_.join();
    ::close(door_);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void serve() const {
    std::vector<int> silent;
    while (true) {
      const int one = ::accept(door_, nullptr, nullptr);
      if (one < 0) {
        break;
      }
      std::string head;
      std::array<char, 1024> buffer{};
      while (head.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::recv(one, buffer.data(), buffer.size(), 0);
        if (got <= 0) {
          break;
        }
        head.append(buffer.data(), static_cast<std::size_t>(got));
      }
      const std::string path = head.substr(4, head.find(' ', 4) - 4);
      if (path == "/never") {
        silent.push_back(one);
        continue;
      }
      const std::string answer =
          fmt::format("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
                      path.size(),
                      path);
      EXPECT_EQ(::send(one, answer.data(), answer.size(), MSG_NOSIGNAL),
                static_cast<ssize_t>(answer.size()));
      ::close(one);
    }
    for (const int one : silent) {
      ::close(one);
    }
  }

  int door_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

class Kept final : public HttpExchange {
 public:
  void on_send(core::SimTime /*now*/) override { ++sends; }
  bool on_bytes(int /*status*/,
                std::string_view /*content_type*/,
                std::string_view bytes,
                core::SimTime /*read*/) override {
    body += bytes;
    return true;
  }
  void on_end(const HttpEnd& end) override {
    status = end.status;
    ended_in = std::this_thread::get_id();
    ++ends;
  }

  int sends = 0;
  int ends = 0;
  int status = 0;
  std::string body;
  std::thread::id ended_in;
};

class HttpWorkersTest : public testing::Test {
 protected:
  void SetUp() override {
    HttpClient::Options options;
    options.target = {
        .text = "http://127.0.0.1", .scheme = "http", .host = "127.0.0.1", .port = server_.port()};
    options.address = "127.0.0.1";
    auto made = HttpWorkers::make(options, clock_, 3);
    if (!made) {
      GTEST_SKIP() << core::to_string(made.error().front());
    }
    workers_ = std::move(*made);
  }

  SmallServer server_;
  RunClock clock_;
  std::unique_ptr<HttpWorkers> workers_;
};

TEST_F(HttpWorkersTest, EachRequestIsAnsweredOnce) {
  std::vector<Kept> all(40);
  for (std::size_t i = 0; i < all.size(); ++i) {
    workers_->start({.path = fmt::format("/{}", i)}, all[i]);
  }
  const core::SimTime until = clock_.now() + core::Duration::seconds(20);
  const auto left = [&] {
    std::size_t count = 0;
    for (const Kept& one : all) {
      count += one.ends == 0 ? 1 : 0;
    }
    return count;
  };
  while (left() > 0 && clock_.now() < until) {
    workers_->run(clock_.now() + core::Duration::milliseconds(100));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].ends, 1);
    EXPECT_EQ(all[i].sends, 1);
    EXPECT_EQ(all[i].status, 200);
    EXPECT_EQ(all[i].body, fmt::format("/{}", i));
    EXPECT_EQ(all[i].ended_in, std::this_thread::get_id());
  }
}

TEST_F(HttpWorkersTest, WhatIsInFlightMayBeGivenUp) {
  Kept never;
  workers_->start({.path = "/never"}, never);
  const core::SimTime before = clock_.now();
  workers_->run(before + core::Duration::milliseconds(50));
  EXPECT_GE(clock_.now() - before, core::Duration::milliseconds(50));
  workers_.reset();
  EXPECT_EQ(never.ends, 0);
}

}  // namespace
}  // namespace ridgeline::observe
