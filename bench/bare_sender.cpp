// What sending costs without a server around it: bursts of bytes to many connections, which another
// process reads.
//
//     bare_sender CONNECTIONS BURST BYTES BURSTS_PER_SECOND ROUNDS tcp|PATH
//
// Opens CONNECTIONS over loopback TCP, or through a UNIX socket at PATH; in each of ROUNDS rounds
// BYTES go to BURST of them, one send() each. A round begins at its due time, awake for the last
// 150 us as the server is, or when the one before has ended. Prints as JSON: CPU per send (of the
// rounds, without the waiting), and how long after its due time the last byte of a round was
// written. bench/serve.py compiles and runs it.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace {

constexpr int kBacklog = 4096;
constexpr double kAwake = 150e-6;

void check(bool good, const char* what) {
  if (!good) {
    std::perror(what);
    std::_Exit(2);
  }
}

double now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void wait_until(double due) {
  if (const double left = due - kAwake - now(); left > 0.0) {
    timespec rest{};
    rest.tv_sec = static_cast<time_t>(left);
    rest.tv_nsec = static_cast<long>((left - static_cast<double>(rest.tv_sec)) * 1e9);
    ::nanosleep(&rest, nullptr);
  }
  while (now() < due) {
  }
}

/// Reads all connections until each has ended.
void read_all(int listener, int connections) {
  const int epoll = ::epoll_create1(0);
  for (int i = 0; i < connections; ++i) {
    const int one = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
    check(one >= 0, "accept");
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = one;
    ::epoll_ctl(epoll, EPOLL_CTL_ADD, one, &event);
  }
  std::array<epoll_event, 256> events{};
  std::vector<char> buffer(65'536);
  while (connections > 0) {
    const int count = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int one = events[static_cast<std::size_t>(i)].data.fd;
      if (::recv(one, buffer.data(), buffer.size(), 0) == 0) {
        ::close(one);
        --connections;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check(argc == 7, "usage: bare_sender CONNECTIONS BURST BYTES BURSTS_PER_SECOND ROUNDS tcp|PATH");
  const int connections = std::atoi(argv[1]);
  const int burst = std::atoi(argv[2]);
  const std::string bytes(static_cast<std::size_t>(std::atoi(argv[3])), 'x');
  const double rate = std::atof(argv[4]);
  const int rounds = std::atoi(argv[5]);
  const std::string_view path = argv[6];
  const bool is_tcp = path == "tcp";

  sockaddr_in net{};
  net.sin_family = AF_INET;
  net.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  path.copy(local.sun_path, sizeof local.sun_path - 1);
  auto* const address =
      is_tcp ? reinterpret_cast<sockaddr*>(&net) : reinterpret_cast<sockaddr*>(&local);
  socklen_t length = is_tcp ? sizeof net : sizeof local;
  const int listener = ::socket(address->sa_family, SOCK_STREAM, 0);
  check(::bind(listener, address, length) == 0 && ::listen(listener, kBacklog) == 0, "listen");
  if (is_tcp) {
    check(::getsockname(listener, address, &length) == 0, "getsockname");
  }

  const pid_t reader = ::fork();
  if (reader == 0) {
    read_all(listener, connections);
    std::_Exit(0);
  }
  std::vector<int> sockets;
  for (int i = 0; i < connections; ++i) {
    const int one = ::socket(address->sa_family, SOCK_STREAM, 0);
    check(::connect(one, address, length) == 0, "connect");
    const int yes = 1;
    ::setsockopt(one, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockets.push_back(one);
  }
  ::prctl(PR_SET_TIMERSLACK, 1);
  std::vector<double> lateness;
  const double began = now();
  double spent = 0.0;
  std::size_t next = 0;
  for (int round = 0; round < rounds; ++round) {
    const double due = began + static_cast<double>(round + 1) / rate;
    wait_until(due);
    const double before = now(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < burst; ++i, ++next) {
      next = next == sockets.size() ? 0 : next;
      check(::send(sockets[next], bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0, "send");
    }
    lateness.push_back(now() - due);
    spent += now(CLOCK_PROCESS_CPUTIME_ID) - before;
  }
  const double took = now() - began;
  for (const int one : sockets) {
    ::close(one);
  }
  ::waitpid(reader, nullptr, 0);
  std::sort(lateness.begin(), lateness.end());
  const auto at = [&](double share) {
    return lateness[static_cast<std::size_t>(share * static_cast<double>(lateness.size() - 1))] *
           1e3;
  };
  std::printf(
      "{\"cpu_us\": %.3f, \"sends_per_s\": %.0f, \"lateness_p50_ms\": %.3f, \"lateness_p99_ms\": "
      "%.3f}\n",
      spent / (static_cast<double>(burst) * rounds) * 1e6,
      static_cast<double>(burst) * rounds / took,
      at(0.5),
      at(0.99));
}
