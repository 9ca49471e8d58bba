#pragma once

#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"

namespace ridgeline::serve {

class Emulator;

/// What the port of `--admin-port` answers: GET /state, PUT /faults (a body {"faults": [...]} in
/// place of those so far), PUT /drain.
class AdminRoutes final : public net::Handler {
 public:
  explicit AdminRoutes(Emulator& emulator) : emulator_(emulator) {}

  void on_request(net::Connection& connection, net::HttpRequest request) override;
  void on_gone(net::Connection& /*connection*/) override {}
  void on_writable(net::Connection& /*connection*/) override {}

 private:
  void put_faults(net::Connection& connection, const net::HttpRequest& request);

  Emulator& emulator_;
};

}  // namespace ridgeline::serve
