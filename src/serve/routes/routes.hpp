#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"

namespace ridgeline::serve {

/// Which servers have a route.
enum class RouteOf : std::uint8_t { kAll, kDevMode, kAdapterUpdates };

/// A line of the table: a path, how it is asked, and what answers.
struct Route {
  std::string_view method;
  std::string_view path;
  void (*answer)(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
  RouteOf where = RouteOf::kAll;
};
[[nodiscard]] std::span<const Route> routes();

// One file each, or one of a kind.
void answer_health(Emulator& emulator,
                   net::Connection& connection,
                   const net::HttpRequest& request);
void answer_version(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& request);
void answer_load(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
void answer_metrics(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& request);
void answer_models(Emulator& emulator,
                   net::Connection& connection,
                   const net::HttpRequest& request);
void answer_completions(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request);
void answer_chat(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
void answer_tokenize(Emulator& emulator,
                     net::Connection& connection,
                     const net::HttpRequest& request);
void answer_detokenize(Emulator& emulator,
                       net::Connection& connection,
                       const net::HttpRequest& request);
void load_adapter(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
void unload_adapter(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& request);

/// Answers with 400 and false where the content is not said to be JSON.
[[nodiscard]] bool is_json(Emulator& emulator,
                           net::Connection& connection,
                           const net::HttpRequest& request);

}  // namespace ridgeline::serve
