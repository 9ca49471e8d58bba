#include <cstdint>

#include <fmt/format.h>

#include "serve/emulator.hpp"
#include "serve/exposition.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/routes/routes.hpp"

namespace ridgeline::serve {

void answer_version(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& /*request*/) {
  emulator.answer(connection,
                  200,
                  net::kJsonType,
                  fmt::format(R"({{"version":"{}"}})", emulator.settings().version_text));
}

void answer_load(Emulator& emulator,
                 net::Connection& connection,
                 const net::HttpRequest& /*request*/) {
  // Without --enable-server-load-tracking vLLM shows 0.
  const std::int64_t load = emulator.settings().tracks_load ? emulator.num_open() : 0;
  emulator.answer(connection, 200, net::kJsonType, fmt::format(R"({{"server_load":{}}})", load));
}

void answer_metrics(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& /*request*/) {
  emulator.answer(connection, 200, Exposition::kContentType, emulator.metrics_page());
}

}  // namespace ridgeline::serve
