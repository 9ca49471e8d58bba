#pragma once

#include <string>

#include "core/result.hpp"

namespace ridgeline::serve::net {

/// Where a server listens.
struct Address {
  std::string host = "127.0.0.1";
  int port = 8000;       ///< 0: any that is free.
  std::string uds = {};  ///< A path instead of both.
};

/// A socket that listens, and does not block.
class Listener {
 public:
  [[nodiscard]] static core::Result<Listener> open(const Address& address);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// "http://127.0.0.1:8000", or "unix:PATH": with the port that was taken.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Whether other machines can reach it.
  [[nodiscard]] bool is_loopback() const { return is_loopback_; }
  /// The next connection, which does not block and sends without delay; -1 where there is none now,
  /// and -2 where there are no descriptors left.
  [[nodiscard]] int accept() const;
  void close();

 private:
  Listener() = default;
  [[nodiscard]] static core::Result<Listener> open_local(const Address& address);
  int descriptor_ = -1;
  bool is_loopback_ = true;
  bool is_tcp_ = true;
  std::string name_;
  std::string path_;  ///< Path of a UNIX socket, which is removed at the end.
};

}  // namespace ridgeline::serve::net
