#include "serve/net/event_loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <new>
#include <string_view>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/text.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/listener.hpp"
#include "sim/live/clock.hpp"

namespace ridgeline::serve::net {
namespace {

using Wall = live::WallClock::Wall;

constexpr std::chrono::milliseconds kTick{100};
/// A timer wakes a thread 65 us late (median) to 170 us (p99; design of serve, measured on a
/// virtual machine): what is to happen exactly is waited for awake for the last part, at most a
/// twentieth of the time.
constexpr std::chrono::microseconds kAwake{150};
constexpr int kAwakeShare = 20;
/// Events taken at once, and connections accepted at once: what is due is looked at in between,
/// after 1 ms where each is a request (some 30 us).
constexpr std::size_t kEvents = 32;
constexpr int kAccepts = 32;

/// Descriptors that are no connections.
constexpr std::int64_t kOther = 64;

/// How many descriptors the process may have, after asking for all that it may ask for.
std::int64_t raised_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return std::numeric_limits<std::int64_t>::max();
  }
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::int64_t>(
      std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<std::int32_t>::max()));
}

void watch(int epoll, int operation, int descriptor, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  ::epoll_ctl(epoll, operation, descriptor, &event);
}

}  // namespace

core::Result<std::unique_ptr<EventLoop>> EventLoop::make(const LoopOptions& options) {
  std::unique_ptr<EventLoop> loop(new EventLoop(options));
  loop->options_.max_connections =
      std::min(options.max_connections, std::max<std::int64_t>(raised_limit() - kOther, 1));
  loop->epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  loop->timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  loop->reserve_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (loop->epoll_ < 0 || loop->timer_ < 0) {
    return core::fail(core::ErrorCode::kInternal,
                      "cannot wait for sockets: " + core::system_message(errno));
  }
  watch(loop->epoll_, EPOLL_CTL_ADD, loop->timer_, EPOLLIN);
  return loop;
}

EventLoop::~EventLoop() {
  connections_.clear();
  for (const int descriptor : {epoll_, timer_, reserve_}) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
}

void EventLoop::listen(Listener& listener, Handler& handler) {
  doors_.push_back({.listener = &listener, .handler = &handler});
  watch(epoll_, EPOLL_CTL_ADD, listener.descriptor(), EPOLLIN);
}

void EventLoop::stop_listening(const Handler& handler) {
  std::erase_if(doors_, [&](const Door& door) {
    const bool is_its = door.handler == &handler;
    if (is_its) {
      door.listener->close();
    }
    return is_its;
  });
}

void EventLoop::drain(const Handler& handler) {
  for (auto& [descriptor, entry] : connections_) {
    if (&entry.connection->handler() == &handler) {
      entry.connection->drain();
      touched_.push_back(descriptor);
    }
  }
}

std::int64_t EventLoop::num_connections(const Handler& handler) const {
  return std::ranges::count_if(connections_, [&](const auto& entry) {
    return &entry.second.connection->handler() == &handler;
  });
}

void EventLoop::accept_all(const Door& door) {
  for (int i = 0; i < kAccepts; ++i) {
    int descriptor = door.listener->accept();
    if (descriptor == -2 && reserve_ >= 0) {
      // There are no descriptors left: one is kept to say so.
      ::close(std::exchange(reserve_, -1));
      descriptor = door.listener->accept();
      if (descriptor >= 0) {
        turn_away(descriptor);
      }
      reserve_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      continue;
    }
    if (descriptor < 0) {
      return;
    }
    if (num_connections() >= options_.max_connections) {
      turn_away(descriptor);
      continue;
    }
    Entry& entry = connections_[descriptor];
    entry.connection = std::make_unique<Connection>(descriptor, options_.limits, *door.handler);
    entry.events = EPOLLIN | EPOLLRDHUP;
    watch(epoll_, EPOLL_CTL_ADD, descriptor, entry.events);
  }
}

void EventLoop::turn_away(int descriptor) {
  constexpr std::string_view kBusy =
      "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n"
      "connection: close\r\n\r\n";
  ++turned_away_;
  static_cast<void>(::send(descriptor, kBusy.data(), kBusy.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::shutdown(descriptor, SHUT_WR);
  ::close(descriptor);
}

void EventLoop::handle(int descriptor, std::uint32_t events) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) {
    return;
  }
  Connection& connection = *found->second.connection;
  try {
    if ((events & EPOLLIN) != 0U && connection.wants_input()) {
      connection.on_readable();
    } else if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0U) {
      connection.on_hang_up();
    }
    if ((events & EPOLLOUT) != 0U) {
      connection.on_writable();
    }
  } catch (const std::bad_alloc&) {
    connection.on_out_of_memory();
  }
  settle(descriptor);
}

/// Waits for what the connection wants now, or takes it away.
void EventLoop::settle(int descriptor) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) {
    return;
  }
  Entry& entry = found->second;
  if (entry.connection->is_dead()) {
    connections_.erase(found);
    return;
  }
  const std::uint32_t wanted = EPOLLRDHUP | (entry.connection->wants_input() ? EPOLLIN : 0U) |
                               (entry.connection->wants_output() ? EPOLLOUT : 0U);
  if (wanted != entry.events) {
    entry.events = wanted;
    watch(epoll_, EPOLL_CTL_MOD, descriptor, wanted);
  }
}

void EventLoop::set_timer(Wall until) {
  if (until == timer_set_) {
    return;
  }
  timer_set_ = until;
  const std::int64_t nanoseconds = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(until.time_since_epoch()).count(), 1);
  constexpr std::int64_t kSecond = 1'000'000'000;
  itimerspec when{};
  when.it_value.tv_sec = nanoseconds / kSecond;
  when.it_value.tv_nsec = nanoseconds % kSecond;
  ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &when, nullptr);
}

/// Sets the timer; whether to look at the sockets without sleeping, as what is to happen exactly is
/// near.
bool EventLoop::prepare_wait(const Wish& next, Wall next_tick) {
  const Wall early = next.exact - kAwake;
  const bool may = next.exact == awake_for_ || early >= awake_again_;
  const bool is_near = may && live::wall_now() >= early;
  if (is_near && next.exact != awake_for_) {
    awake_for_ = next.exact;
    awake_again_ = early + kAwakeShare * kAwake;
  }
  set_timer(std::min({may ? early : next.exact, next.rough, next_tick}));
  return is_near;
}

void EventLoop::check_patience() {
  const Wall now = live::wall_now();
  for (auto& [descriptor, entry] : connections_) {
    entry.connection->check_patience(now, options_.patience);
    if (entry.connection->is_dead() || entry.connection->wants_output()) {
      touched_.push_back(descriptor);
    }
  }
}

void EventLoop::run(Work& work) {
  std::array<epoll_event, kEvents> events{};
  Wall next_tick = live::wall_now() + kTick;
  for (;;) {
    const Wish next = work.run();
    const auto settle_touched = [this] {
      // Settling calls no handler.
      for (const int descriptor : touched_) {
        settle(descriptor);
      }
      touched_.clear();
    };
    settle_touched();
    const int most_ms = prepare_wait(next, next_tick) ? 0 : -1;
    const int count = ::epoll_wait(epoll_, events.data(), static_cast<int>(kEvents), most_ms);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor == timer_) {
        std::uint64_t expirations = 0;
        static_cast<void>(::read(timer_, &expirations, sizeof expirations));
        timer_set_ = {};
        continue;
      }
      const auto door = std::ranges::find_if(
          doors_, [&](const Door& one) { return one.listener->descriptor() == descriptor; });
      if (door != doors_.end()) {
        accept_all(*door);
      } else {
        handle(descriptor, events[static_cast<std::size_t>(i)].events);
      }
    }
    if (live::wall_now() >= next_tick) {
      next_tick = live::wall_now() + kTick;
      check_patience();
      if (!work.tick()) {
        settle_touched();
        return;
      }
    }
  }
}

}  // namespace ridgeline::serve::net
