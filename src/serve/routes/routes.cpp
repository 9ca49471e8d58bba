#include "serve/routes/routes.hpp"

#include <array>
#include <span>
#include <string_view>

#include "openai/api_error.hpp"
#include "serve/emulator.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"

namespace ridgeline::serve {

std::span<const Route> routes() {
  static constexpr auto kRoutes = std::to_array<Route>({
      {"GET", "/health", answer_health},
      {"GET", "/ping", answer_health},
      {"POST", "/ping", answer_health},
      {"GET", "/version", answer_version},
      {"GET", "/load", answer_load},
      {"GET", "/metrics", answer_metrics},
      {"GET", "/v1/models", answer_models},
      {"POST", "/v1/completions", answer_completions},
      {"POST", "/v1/chat/completions", answer_chat},
      {"POST", "/tokenize", answer_tokenize},
      {"POST", "/detokenize", answer_detokenize},
      {"POST", "/v1/load_lora_adapter", load_adapter, RouteOf::kAdapterUpdates},
      {"POST", "/v1/unload_lora_adapter", unload_adapter, RouteOf::kAdapterUpdates},
  });
  return kRoutes;
}

bool is_json(Emulator& emulator, net::Connection& connection, const net::HttpRequest& request) {
  std::string_view type = request.header("content-type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) {
    type.remove_suffix(1);
  }
  if (type == net::kJsonType) {
    return true;
  }
  emulator.answer_error(
      connection,
      openai::bad_request("Unsupported Media Type: Only 'application/json' is allowed"));
  return false;
}

}  // namespace ridgeline::serve
