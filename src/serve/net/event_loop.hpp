#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/net/listener.hpp"
#include "sim/live/clock.hpp"

namespace ridgeline::serve::net {

/// What an event loop is to do.
struct LoopOptions {
  HttpLimits limits = {};
  Patience patience = {};
  std::int64_t max_connections = 16384;
};

/// The one loop of a server: waits for sockets and for an instant, and calls.
class EventLoop {
 public:
  /// When something is to be done: at once where either has come.
  struct Wish {
    live::WallClock::Wall exact;  ///< As soon after it as the machine can.
    live::WallClock::Wall rough;  ///< A little later does no harm.
  };
  /// What the loop does besides handling sockets.
  class Work {
   public:
    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    virtual ~Work() = default;
    /// Does what is due. When it next wants to be called.
    virtual Wish run() = 0;
    /// Every 100 ms. False ends the loop.
    virtual bool tick() = 0;
  };

  [[nodiscard]] static core::Result<std::unique_ptr<EventLoop>> make(const LoopOptions& options);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  /// Accepts connections for this handler. Both outlive the loop.
  void listen(Listener& listener, Handler& handler);
  /// Takes no connection for this handler any more.
  void stop_listening(const Handler& handler);
  /// Its connections with no answer under way end; the others after it.
  void drain(const Handler& handler);
  void run(Work& work);

  /// Looks at a connection again, after something was written to it or it was ended.
  void touch(const Connection& connection) { touched_.push_back(connection.descriptor()); }

  [[nodiscard]] std::int64_t num_connections() const {
    return static_cast<std::int64_t>(connections_.size());
  }
  [[nodiscard]] std::int64_t num_connections(const Handler& handler) const;
  /// Connections turned away because there were too many.
  [[nodiscard]] std::int64_t turned_away() const { return turned_away_; }

 private:
  struct Entry {
    std::unique_ptr<Connection> connection;
    std::uint32_t events = 0;  ///< Waited for.
  };
  struct Door {
    Listener* listener;
    Handler* handler;
  };

  explicit EventLoop(const LoopOptions& options) : options_(options) {}
  void accept_all(const Door& door);
  void turn_away(int descriptor);
  void handle(int descriptor, std::uint32_t events);
  void settle(int descriptor);
  void set_timer(live::WallClock::Wall until);
  bool prepare_wait(const Wish& next, live::WallClock::Wall next_tick);
  void check_patience();

  LoopOptions options_;
  int epoll_ = -1;
  int timer_ = -1;
  int reserve_ = -1;  ///< A descriptor to give up where there are no more.
  std::vector<Door> doors_;
  std::map<int, Entry> connections_;
  live::WallClock::Wall timer_set_;
  live::WallClock::Wall awake_for_;    ///< That the loop stays awake for, or did last.
  live::WallClock::Wall awake_again_;  ///< Before it the loop sleeps through.
  std::int64_t turned_away_ = 0;
  std::vector<int> touched_;
};

}  // namespace ridgeline::serve::net
