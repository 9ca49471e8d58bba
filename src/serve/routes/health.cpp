#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/routes/routes.hpp"

namespace ridgeline::serve {

void answer_health(Emulator& emulator,
                   net::Connection& connection,
                   const net::HttpRequest& /*request*/) {
  constexpr int kOk = 200;
  constexpr int kUnavailable = 503;
  emulator.answer(connection, emulator.is_ready() ? kOk : kUnavailable, {}, {});
}

}  // namespace ridgeline::serve
