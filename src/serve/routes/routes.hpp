#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "openai/api_version.hpp"
#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"

namespace ridgeline::serve {

/// Which servers have a route.
enum class RouteOf : std::uint8_t { kAll, kDevMode, kAdapterUpdates };

/// A line of the table: a path, how it is asked, and what answers. A star in the path stands for
/// one part of it.
struct Route {
  std::string_view method;
  std::string_view path;
  void (*answer)(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
  RouteOf where = RouteOf::kAll;
  openai::ApiVersion since = {};
  openai::ApiVersion until = openai::ApiVersion::never();  ///< It is there before.
};
[[nodiscard]] std::span<const Route> routes();
/// What stands in a path for the star of the table's, or an empty text where that has none; nothing
/// where it is not the table's path.
[[nodiscard]] std::optional<std::string_view> part_of(std::string_view of_table,
                                                      std::string_view path);

/// Every value of a key in a query, as it stands there; the last one, or `otherwise`.
[[nodiscard]] std::vector<std::string_view> query_values(std::string_view query,
                                                         std::string_view key);
[[nodiscard]] std::string_view query_value(std::string_view query,
                                           std::string_view key,
                                           std::string_view otherwise);
/// Whether the value of a query's key is Python's word for true.
[[nodiscard]] bool is_true(std::string_view text);

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
void answer_responses(Emulator& emulator,
                      net::Connection& connection,
                      const net::HttpRequest& request);
void answer_kept_response(Emulator& emulator,
                          net::Connection& connection,
                          const net::HttpRequest& request);
void cancel_response(Emulator& emulator,
                     net::Connection& connection,
                     const net::HttpRequest& request);
void answer_messages(Emulator& emulator,
                     net::Connection& connection,
                     const net::HttpRequest& request);
void count_tokens(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
void answer_invocations(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request);
void refuse_pooling(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& request);
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

void answer_sleep(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
void answer_wake_up(Emulator& emulator,
                    net::Connection& connection,
                    const net::HttpRequest& request);
void answer_is_sleeping(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request);
void answer_pause(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
void answer_resume(Emulator& emulator,
                   net::Connection& connection,
                   const net::HttpRequest& request);
void answer_is_paused(Emulator& emulator,
                      net::Connection& connection,
                      const net::HttpRequest& request);
void reset_prefix_cache(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request);
void reset_other_cache(Emulator& emulator,
                       net::Connection& connection,
                       const net::HttpRequest& request);
void call_workers(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request);
void answer_server_info(Emulator& emulator,
                        net::Connection& connection,
                        const net::HttpRequest& request);

/// Answers with 400 and false where the content is not said to be JSON.
[[nodiscard]] bool is_json(Emulator& emulator,
                           net::Connection& connection,
                           const net::HttpRequest& request);

/// What `parse` makes of a body that asks something of a model. Nothing, and the error is answered,
/// where it is no such body or there is no such model.
template <class Parse>
auto read_json(Emulator& emulator,
               net::Connection& connection,
               const net::HttpRequest& request,
               Parse parse)
    -> std::optional<typename decltype(parse(std::string_view()))::value_type> {
  if (!is_json(emulator, connection, request)) {
    return std::nullopt;
  }
  auto wanted = parse(request.body);
  if (!wanted) {
    emulator.answer_error(connection, wanted.error());
    return std::nullopt;
  }
  if (const auto known = emulator.check_model(wanted->model); !known) {
    emulator.answer_error(connection, known.error());
    return std::nullopt;
  }
  return std::move(*wanted);
}

}  // namespace ridgeline::serve
